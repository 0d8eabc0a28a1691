"""The shortcuts around libraries: without its file each is switched off, and all answers stay the same."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import ROOT
from infra.local.names import REGION
from tests.core.aws.service import Service, ok, serving

# Each file, with the path to DynamoDB, whether plain requests are answered by us, and whether the whole SDK is there.
SHORTCUTS = {
    "": ["HttpTransport", True, False],
    "functions/mcp_endpoint/protocol/plain_request.py": ["HttpTransport", False, False],
    "functions/mcp_endpoint/lean_sdk.py": ["HttpTransport", True, True],
    "layers/core/mcpist/aws/dynamodb.py": ["function", True, False],
}


def serve_without(file: str, folder: Path) -> Any:
    """What a process found whose copy of the product lacks a file."""
    for room in ("functions/mcp_endpoint", "layers/core/mcpist"):
        shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    if file:
        (folder / file).unlink()
    paths = map(str, (folder / "functions", folder / "layers/core", ROOT / "layers/services", ROOT))
    service = Service()
    service.answers = [ok(Item={"pk": {"S": "a"}, "n": {"N": "1"}})]
    with serving(service) as url:
        environment = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(paths),
            "UPSTREAMS": "/nowhere",
            "AWS_LAMBDA_FUNCTION_NAME": "f",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "ak",
            "AWS_SECRET_ACCESS_KEY": "sk",
        }
        command = [sys.executable, "-m", "tests.shortcut_process"]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a process with all shortcuts found."""
    return serve_without("", tmp_path_factory.mktemp("whole"))


def test_all_shortcuts_are_taken_where_their_files_are_there(whole: Any) -> None:
    assert whole["used"] == SHORTCUTS[""]
    assert [status for status, _ in whole["answers"]] == [200] * 5


@pytest.mark.parametrize("file", list(filter(None, SHORTCUTS)))
def test_without_its_file_the_library_serves_the_same_bytes(file: str, whole: Any, tmp_path: Path) -> None:
    found = serve_without(file, tmp_path)
    assert found["used"] == SHORTCUTS[file]
    assert (found["answers"], found["item"]) == (whole["answers"], whole["item"])
