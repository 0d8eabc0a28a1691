"""The segments that the real SDK sends to a daemon on loopback, and that nothing is sent without tracing."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
TRACE = "Root=1-12345678-123456789012345678901234;Parent=1234567890123456;Sampled=1"
PATHS = ("functions", "layers/core", "layers/services")
# The work of a sandbox: its results and exceptions contain a canary. At the end it prints whether the SDK was imported.
WORK = """
import sys
from mcpist.errors import UpstreamUnavailable
from mcpist.telemetry.tracing import annotate, span

def fail(error):
    try:
        with span("broker", operation="resolve"):
            raise error
    except type(error):
        pass

with span("door"):
    annotate(correlation_id="r1")
    with span("tool", tool="github.get_me"):
        answer = "canary in a result"
    fail(UpstreamUnavailable(service="github", problem="canary in a problem"))
    fail(ValueError("canary in a defect"))
print("aws_xray_sdk.core" in sys.modules)
"""
DOORS = ("mcp_endpoint", "step_runner", "token_broker", "program_runner", "console", "janitor")


def python(code: str, **environment: str) -> str:
    """Run code as a sandbox would, and return its output."""
    own = {"PYTHONPATH": ":".join(str(ROOT / path) for path in PATHS), "PATH": os.environ["PATH"]}
    lambdas = {"LAMBDA_TASK_ROOT": "/var/task", "_X_AMZN_TRACE_ID": TRACE, "AWS_DEFAULT_REGION": "us-east-1"}
    process = subprocess.run(
        [sys.executable, "-c", code], env=own | lambdas | environment, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


@pytest.fixture
def daemon() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as daemon:
        daemon.bind(("127.0.0.1", 0))
        daemon.settimeout(0.5)
        yield daemon


def received(daemon: socket.socket) -> dict[str, Any]:
    """Receive the subsegments, by name and code; the last of a name replaces the others."""
    found = {}
    while True:
        try:
            packet = daemon.recv(65_536).decode()
        except TimeoutError:
            return found
        segment = json.loads(packet.partition("\n")[2])
        found[segment["name"], segment.get("annotations", {}).get("code", "")] = segment
        assert "canary" not in packet


def test_spans_have_names_annotations_and_codes_but_no_message_of_an_exception(daemon: socket.socket) -> None:
    address = f"127.0.0.1:{daemon.getsockname()[1]}"
    assert python(WORK, TRACING="on", AWS_XRAY_DAEMON_ADDRESS=address) == "True"
    spans = received(daemon)
    assert set(spans) == {
        ("door", ""),
        ("tool", ""),
        ("broker", "UPSTREAM_UNAVAILABLE"),
        ("broker", "ValueError"),
    }
    door = spans["door", ""]
    assert door["annotations"] == {"correlation_id": "r1"}
    assert spans["tool", ""]["annotations"] == {"tool": "github.get_me"}
    assert "fault" not in spans["tool", ""]
    for code in ("UPSTREAM_UNAVAILABLE", "ValueError"):
        failed = spans["broker", code]
        assert failed["annotations"] == {"operation": "resolve", "code": code}
        assert failed["fault"] is True
        assert failed["parent_id"] == door["id"]
        assert not {"cause", "metadata"} & set(failed)


def test_without_tracing_no_door_imports_the_sdk_and_nothing_is_sent(daemon: socket.socket) -> None:
    doors = "\n".join(f"import {door}.handler" for door in DOORS)
    address = f"127.0.0.1:{daemon.getsockname()[1]}"
    assert python(f"{doors}\n{WORK}", TRACING="off", AWS_XRAY_DAEMON_ADDRESS=address) == "False"
    assert received(daemon) == {}
