"""The protocol's own conformance suite, run against a server of ours."""

import json
import subprocess
from pathlib import Path

from tests.peers.npm import modern_node, modules

SCENARIO_SECONDS = 60


def outcomes(url: str, scenario: str, folder: Path) -> dict[str, str]:
    """How each check of a scenario ended, with what the suite says of those that did not succeed."""
    suite = modules() / "@modelcontextprotocol/conformance/dist/index.js"
    done = subprocess.run(
        [modern_node(), suite, "server", "--url", url, "--scenario", scenario, "--output-dir", folder],
        capture_output=True,
        text=True,
        timeout=SCENARIO_SECONDS,
        check=False,
    )
    written = list(folder.glob("*/checks.json"))
    assert written, done.stdout + done.stderr
    checks = json.loads(written[0].read_text("utf-8"))
    return {check["id"]: " ".join(filter(None, [check["status"], check.get("errorMessage")])) for check in checks}
