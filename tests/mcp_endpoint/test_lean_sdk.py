"""The SDK in a fresh process: an update of it that imports more, or no longer works in this way, is noticed here."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from infra.source import ROOT

LEFT_OUT = ("mcp.client", "mcp.server.mcpserver", "sse_starlette.sse", "uvicorn", "httpx2")
MIN_LATE_MODELS = 400


@pytest.fixture(scope="module")
def found() -> Any:
    """What the process found."""
    rooms = [str(ROOT / name) for name in ("functions", "layers/core", "layers/services", ".")]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(rooms), "UPSTREAMS": "/nowhere"}
    command = [sys.executable, "-W", "error", "-m", "tests.mcp_endpoint.lean_process"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_both_eras_are_served_without_the_parts_that_no_request_needs(found: Any) -> None:
    assert found["handshake"] == "2025-11-25"
    assert found["tools"] == [["get_module_schema", "call", "batch"]] * 2
    assert set(LEFT_OUT) & set(found["imported"]) == set()


def test_validators_are_built_at_their_first_use_and_all_before_a_snapshot(found: Any) -> None:
    late, after = found["late"]
    assert late > MIN_LATE_MODELS
    assert after == 0


def test_who_asks_for_what_was_left_out_gets_it(found: Any) -> None:
    assert found["names"] == ["Client", "MCPServer", "Tool"]
    assert found["stream"] == "sse_starlette.sse"
