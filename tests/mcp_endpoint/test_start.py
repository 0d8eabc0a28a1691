"""The imports of a sandbox before its first request."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.source import ROOT

ASKS = """
import sys
import mcp_endpoint.handler
rooms = ("mcpist_services.upstream.", "mcpist.batch.", "mcp_endpoint.batch", "botocore.", "httpcore2.")
# The options of a batch are a part of the schema of `batch`, which every tools/list has.
found = {name for name in sys.modules if name.startswith(rooms)} - {"mcpist.batch.options"}
print(*sorted(found), *({"jsonschema"} & set(sys.modules)))
"""


def started(file: Path) -> subprocess.CompletedProcess[str]:
    rooms = [str(ROOT / name) for name in ("functions", "layers/core", "layers/services")]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(rooms), "UPSTREAMS": str(file)}
    return subprocess.run([sys.executable, "-c", ASKS], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("file", [Path("/nowhere.json"), ROOT / "layers/config/upstreams.json"])
def test_the_function_starts_without_the_imports_that_tools_list_does_not_need(file: Path) -> None:
    done = started(file)
    assert done.returncode == 0, done.stderr
    assert not done.stdout.split()


def test_an_invalid_file_prevents_the_start_and_names_the_place(tmp_path: Path) -> None:
    file = tmp_path / "upstreams.json"
    file.write_text('{"mcpServers": {"a": {"command": "a"}}}')
    done = started(file)
    assert done.returncode != 0
    assert f"{file}: mcpServers.a.description: Field required" in done.stderr
