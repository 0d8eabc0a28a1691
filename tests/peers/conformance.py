"""The protocol's own conformance suite, run against a server of ours."""

import json
import re
import subprocess
from pathlib import Path

from tests.peers.npm import modern_node, modules

SCENARIO_SECONDS = 60
SUITE_SECONDS = 300

_FOLDER = re.compile(r"server-(?P<scenario>.+)-\d{4}-\d\d-\d\dT[\d-]+Z")


def outcomes(url: str, scenario: str, folder: Path) -> dict[str, str]:
    """Return the outcome of each check of a scenario, with the suite's message for those that failed."""
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


def failures(url: str, revision: str, folder: Path) -> tuple[set[str], dict[str, str]]:
    """Run the checks of a protocol revision: those that passed, and those that failed with their messages.

    What a server only should do counts, too: the suite warns of it.
    """
    suite = modules() / "@modelcontextprotocol/conformance/dist/index.js"
    command = [modern_node(), suite, "server", "--url", url, "--requirements", revision, "--output-dir", folder]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SUITE_SECONDS, check=False)
    passed: set[str] = set()
    failed: dict[str, str] = {}
    for written in folder.glob("*/checks.json"):
        scenario = _FOLDER.fullmatch(written.parent.name)
        assert scenario, written
        for check in json.loads(written.read_text("utf-8")):
            name = f"{scenario['scenario']}/{check['id']}"
            if check["status"] in {"FAILURE", "WARNING"}:
                failed[name] = str(check.get("errorMessage"))
            elif check["status"] == "SUCCESS":
                passed.add(name)
    assert passed, done.stdout + done.stderr
    return passed - set(failed), failed
