"""Run by `make build`, which stamps the built template, and by `make deploy`, which uploads it without a question."""

import argparse
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from infra.deploy.revision import RULE, revised
from infra.deploy.stack import (
    Configuration,
    ConfigurationError,
    DeployedStack,
    assignments,
    read_concurrency,
    read_configuration,
)
from infra.local.intrinsics import TemplateError, read_yaml
from infra.local.template import check_rules, parameter_values
from infra.source import ROOT

BUILD_FOLDER = ".aws-sam/build"
TEMPLATE_FILE = "template.yaml"
VALUES_FILE = "parameters.yaml"


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Stamp the built template; unless `--stamp` is given, deploy it; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="make deploy",
        description="A parameter that is not named keeps the value of samconfig.toml, of the stack, or its default.",
        epilog='Options of `sam deploy` follow --, e.g. make deploy ARGS="RequestRate=50 -- --s3-bucket mine".',
    )
    parser.add_argument("parameters", nargs="*", metavar="NAME=VALUE", help="parameters of the template")
    parser.add_argument("--stack-name", help="default: that of samconfig.toml")
    parser.add_argument("--region")
    parser.add_argument("--profile")
    parser.add_argument("--build-dir", default=BUILD_FOLDER, help="the folder of the built template")
    parser.add_argument("--stamp", action="store_true", help="do not deploy, and send nothing to AWS")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:at])
    folder = root / options.build_dir
    try:
        configuration = read_configuration(root / "samconfig.toml")
        if options.stamp:
            _write(folder, _read(folder), configuration.parameters)
            return 0
        return deploy(root, configuration, options, arguments[at + 1 :])
    except (ConfigurationError, TemplateError) as error:
        sys.stderr.write(f"make {'build' if options.stamp else 'deploy'}: {error}\n")
        return 1


def deploy(root: Path, configuration: Configuration, options: argparse.Namespace, more: Sequence[str]) -> int:
    """Deploy the built template and return SAM's exit code."""
    name = options.stack_name or configuration.stack_name
    region, profile = options.region or configuration.region, options.profile or configuration.profile
    folder = root / options.build_dir
    template = _read(folder)
    chosen = {**configuration.parameters, **assignments(options.parameters)}
    parameter_values(template["Parameters"], chosen)
    stack = DeployedStack(name, region=region, profile=profile)
    if stack.failed_creation:
        sys.stderr.write(f"{name}: its first creation failed and left nothing; removing the empty stack\n")
        stack.delete()
    kept = {parameter: value for parameter, value in stack.parameters.items() if parameter in template["Parameters"]}
    try:
        file = _write(folder, template, {**_suitable(region, profile, {*kept, *chosen}), **kept, **chosen})
    except TemplateError as error:
        raise ConfigurationError(f"{error}; values that are not named are those of the stack {name}") from None
    flags = {"--stack-name": name, "--region": region, "--profile": profile}
    command = [
        *("env", *shlex.split(os.environ.get("SAM", "sam"))),
        *("deploy", "--no-confirm-changeset", "--no-fail-on-empty-changeset"),
        *(word for flag, value in flags.items() if value for word in (flag, value)),
        *("--parameter-overrides", f"file://{file}"),
        *more,
    ]
    # Without an input SAM fails instead of asking.
    keyboard = None if "--confirm-changeset" in more else subprocess.DEVNULL
    return subprocess.run(command, cwd=root, stdin=keyboard, check=False).returncode  # noqa: S603 - the Makefile's SAM


def _suitable(region: str | None, profile: str | None, known: Collection[str]) -> dict[str, str]:
    """Return the limits that suit the account's concurrency, without the parameters that are known already."""
    concurrency = read_concurrency(region, profile)
    found = {name: value for name, value in concurrency.parameters.items() if name not in known} if concurrency else {}
    if concurrency and found:
        values = " ".join(f"{name}={value}" for name, value in found.items())
        sys.stderr.write(f"the account runs {concurrency.limit} functions at once: {values}\n")
    return found


def _read(folder: Path) -> dict[str, Any]:
    """Return the built template."""
    file = folder / TEMPLATE_FILE
    if not file.exists():
        raise ConfigurationError(f"{file} does not exist: run `make build`")
    return read_yaml(file)


def _write(folder: Path, template: Mapping[str, Any], given: Mapping[str, str]) -> Path:
    """Write the stamped template, and return the file with the values of its parameters."""
    values = parameter_values(template["Parameters"], given)
    check_rules({name: rule for name, rule in template.get("Rules", {}).items() if name != RULE}, values)
    (folder / TEMPLATE_FILE).write_text(yaml.safe_dump(revised(template, values), sort_keys=False), "utf-8")
    # JSON is YAML, and SAM reads files of YAML or TOML.
    (folder / VALUES_FILE).write_text(json.dumps(values, indent=2), "utf-8")
    return folder / VALUES_FILE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
