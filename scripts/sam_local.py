"""`make sam-local`: the built functions in containers, as SAM runs them, against an embedded AWS on this machine.

The embedded AWS serves all AWS requests of a container: an endpoint in a container invokes the broker of the embedded
AWS, and its batches run there. SAM implements neither aliases nor SnapStart.
"""

import argparse
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

from infra.local.demo import ORGANIZATION
from infra.local.deployment import DeploymentOptions, run_local_deployment
from infra.local.intrinsics import read_yaml
from infra.local.server import PortInUse, listen
from infra.local.template import Template
from infra.source import ROOT

BUILT_TEMPLATE = ROOT / ".aws-sam/build/template.yaml"
# SAM passes only variables that its template declares, and resolves paths from the template's folder.
LOCAL_TEMPLATE = BUILT_TEMPLATE.with_name("local.yaml")
VARIABLES_FILE = BUILT_TEMPLATE.with_name("local.json")
EVENT_FILE = BUILT_TEMPLATE.with_name("local-event.json")
ENDPOINT_VARIABLE = "AWS_ENDPOINT_URL"
EXAMPLE_HOST = "https://mcp.example.com"  # the host in the events
NO_ENGINE_HINT = "Start one on this machine, or run everything without containers: `make up`."
_TOKEN = re.compile(r"<access token of (\w+)>")


class MissingPrerequisite(Exception):
    """SAM cannot run here yet; the message says what to do."""


def main() -> None:
    """Serve the HTTP API, or invoke one function with an event."""
    parser = argparse.ArgumentParser(prog="make sam-local", description="Other options are those of `sam local`.")
    parser.add_argument("event", nargs="?", type=Path, help="e.g. events/mcp_endpoint_list_tools.json (default: serve)")
    parser.add_argument("--port", type=int, default=3001, help="where the API is served")
    options, more = parser.parse_known_args()
    if options.event and not options.event.is_file():
        parser.error(f"{options.event} is not a file")
    try:
        sys.exit(run(options.event, options.port, more))
    except (MissingPrerequisite, PortInUse) as error:
        sys.exit(f"make sam-local: {error}")


def run(event: Path | None, port: int, more: list[str]) -> int:
    """Run SAM and return its exit code."""
    address = bridge()
    if not BUILT_TEMPLATE.exists():
        raise MissingPrerequisite(f"{BUILT_TEMPLATE} does not exist: run `make build` first")
    url = EXAMPLE_HOST if event else f"http://127.0.0.1:{port}"
    with run_local_deployment(DeploymentOptions(bridge=address, public_url=url, report=_print_progress)) as deployment:
        environments = values(deployment.aws.template, f"http://{address}:{urlsplit(deployment.aws.api_url).port}")
        LOCAL_TEMPLATE.write_text(yaml.safe_dump(with_endpoint_variable(read_yaml(BUILT_TEMPLATE))), "utf-8")
        VARIABLES_FILE.write_text(json.dumps(environments), "utf-8")
        if event is None:
            _print_progress(f"{url}/mcp accepts MCP clients with the token\n{deployment.token()}")
            what = ["start-api", "--host", "127.0.0.1", "--port", str(port), "--warm-containers", "LAZY"]
        else:
            EVENT_FILE.write_text(filled(event.read_text("utf-8"), deployment.login.mint), "utf-8")
            what = ["invoke", target(event, environments), "--event", str(EVENT_FILE)]
        files = ["--template", str(LOCAL_TEMPLATE), "--env-vars", str(VARIABLES_FILE)]
        return _sam(["local", *what, *files, *more], deployment.aws.environment)


def bridge() -> str:
    """Return the address at which containers reach this machine; MissingPrerequisite without a container engine."""
    asked = ["docker", "network", "inspect", "bridge", "--format", "{{json .IPAM.Config}}"]
    try:
        answer = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - fixed words
    except FileNotFoundError:
        raise MissingPrerequisite(
            f"SAM runs functions in containers, and there is no `docker` here. {NO_ENGINE_HINT}"
        ) from None
    if answer.returncode:
        message = " ".join(answer.stderr.strip().splitlines()[-1:])
        raise MissingPrerequisite(
            f"SAM runs functions in containers, and no engine responds: {message} {NO_ENGINE_HINT}"
        )
    (network, *_) = json.loads(answer.stdout)
    # An engine that chose the gateway itself took the first address, and may not report it.
    address = network.get("Gateway") or str(ip_network(network["Subnet"])[1])
    try:
        listen(address, 0).close()
    except PortInUse:
        hint = "containers in a virtual machine cannot reach this machine"
        raise MissingPrerequisite(
            f"the containers' gateway {address} is not an address of this machine: {hint}. {NO_ENGINE_HINT}"
        ) from None
    return address


def with_endpoint_variable(template: dict[str, Any]) -> dict[str, Any]:
    """Add the variable that points a function at the embedded AWS to a template."""
    template["Globals"]["Function"]["Environment"]["Variables"][ENDPOINT_VARIABLE] = ""
    return template


def values(template: Template, endpoint: str) -> dict[str, dict[str, str]]:
    """Return each function's variables by its id."""
    return {one.id: {**one.environment, ENDPOINT_VARIABLE: endpoint} for one in template.functions}


def target(event: Path, functions: Mapping[str, Any]) -> str:
    """Return the function of an event file, by the beginning of the file's name."""
    for id_ in functions:
        room = re.sub("(?<!^)(?=[A-Z])", "_", id_.removesuffix("Function")).lower()
        if event.name.startswith(f"{room}_"):
            return id_
    raise MissingPrerequisite(f"the name of {event} does not begin with a function's name ({', '.join(functions)})")


def filled(text: str, mint: Callable[[str], str]) -> str:
    """Fill in the organization, and an access token for each `<access token of somebody>`."""
    text = text.replace('"acme"', json.dumps(ORGANIZATION))
    return _TOKEN.sub(lambda found: mint(found[1]), text)


def _sam(arguments: list[str], environment: Mapping[str, str]) -> int:
    """Run SAM with only the embedded AWS's credentials; at a stop it first ends its containers."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    keys = {name: value for name, value in environment.items() if name != ENDPOINT_VARIABLE}
    nowhere = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull}
    command = ["env", *shlex.split(os.environ.get("SAM", "sam")), *arguments]
    # A terminal sends Ctrl-C to SAM as well; with a handler here SAM does not inherit an ignored signal.
    signal.signal(signal.SIGINT, lambda *_: None)
    with subprocess.Popen(command, cwd=ROOT, env={**own, **keys, **nowhere}) as sam:  # noqa: S603 - the Makefile's
        signal.signal(signal.SIGTERM, lambda *_: sam.send_signal(signal.SIGINT))
        return sam.wait()


def _print_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
