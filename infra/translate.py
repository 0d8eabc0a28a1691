"""Prints the template as CloudFormation sees it; the SAM CLI's own Python runs it, with that CLI's packages.

With names of layers it prints an object: the template under "", and under each name the template in which only that
layer's content differs.
"""

import json
import sys
from pathlib import Path
from typing import Any

import boto3
from samcli.yamlhelper import yaml_parse  # type: ignore[import-not-found]
from samtranslator.parser.parser import Parser  # type: ignore[import-not-found]
from samtranslator.translator.translator import Translator  # type: ignore[import-not-found]

TEMPLATE = Path(__file__).parents[1] / "template.yaml"


def translated(changed: str = "") -> Any:
    """Return the template with S3 URIs, as `sam package` writes them; the layer `changed` has another URI."""
    template = json.loads(json.dumps(yaml_parse(TEMPLATE.read_text(encoding="utf-8"))))
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/functions"
    for id_, resource in template["Resources"].items():
        if resource["Type"] == "AWS::Serverless::LayerVersion":
            resource["Properties"]["ContentUri"] = f"s3://bucket/{id_}{'2' if id_ == changed else ''}"
    session = boto3.Session(region_name="us-east-1")
    return Translator({}, Parser(), boto_session=session).translate(template, {})


if __name__ == "__main__":
    layers = sys.argv[1:]
    json.dump({id_: translated(id_) for id_ in ["", *layers]} if layers else translated(), sys.stdout)
