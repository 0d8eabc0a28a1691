"""The shortcuts around libraries: without its file each is switched off, and all answers stay the same."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.shortcuts import SHORTCUTS, copy_without, environment_of
from benchmarks.stub_store import serving_item

# Each file, with the path to DynamoDB, whether plain requests are answered by us, and whether the whole SDK is there.
TAKEN = {
    "": ["HttpTransport", True, False],
    "functions/mcp_endpoint/protocol/plain_request.py": ["HttpTransport", False, False],
    "functions/mcp_endpoint/lean_sdk.py": ["HttpTransport", True, True],
    "layers/core/mcpist/aws/dynamodb.py": ["function", True, False],
}


def serve_without(file: str, folder: Path) -> Any:
    """What a process found whose copy of the product lacks a file."""
    with serving_item() as store:
        environment = environment_of(copy_without(file, folder), store)
        command = [sys.executable, "-m", "tests.shortcut_process"]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a process with all shortcuts found."""
    return serve_without("", tmp_path_factory.mktemp("whole"))


def test_all_shortcuts_are_taken_where_their_files_are_there(whole: Any) -> None:
    assert whole["used"] == TAKEN[""]
    assert [status for status, _ in whole["answers"]] == [200] * 5


@pytest.mark.slow
@pytest.mark.parametrize("file", SHORTCUTS)
def test_without_its_file_the_library_serves_the_same_bytes(file: str, whole: Any, tmp_path: Path) -> None:
    found = serve_without(file, tmp_path)
    assert found["used"] == TAKEN[file]
    assert (found["answers"], found["item"]) == (whole["answers"], whole["item"])
