"""Prints the template as CloudFormation sees it; the SAM CLI's own Python runs it, with that CLI's packages.

With paths of templates it prints an object of each one's translation by its path.
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


def translated(path: Path = TEMPLATE) -> Any:
    """Return the template with an S3 URI for each path of code, as `sam package` writes them."""
    text = path.read_text(encoding="utf-8")
    template = json.loads(text if path.suffix == ".json" else json.dumps(yaml_parse(text)))
    template["Globals"]["Function"]["CodeUri"] = "s3://bucket/functions"
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::LayerVersion":
            resource["Properties"]["ContentUri"] = f"s3://bucket/{resource['Properties']['ContentUri']}"
    session = boto3.Session(region_name="us-east-1")
    return Translator({}, Parser(), boto_session=session).translate(template, {})


if __name__ == "__main__":
    paths = sys.argv[1:]
    json.dump({path: translated(Path(path)) for path in paths} if paths else translated(), sys.stdout)
