"""A company's directory over HTTP: scim2-tester passes, and who is deactivated is out while their batch runs."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from infra.local.demo import ORGANIZATION, USER
from infra.local.deployment import LocalDeployment, operating
from mcpist.people import directory
from rehearsal.person import agree
from tests.peers import pypi
from tests.whole.conftest import McpUser
from tests.whole.gate import held

PEER = Path(__file__).parents[1] / "peers/scim_peer.py"
TESTER_SECONDS = 300
MAX_LOOKS = 600


def until(holds: Callable[[], bool]) -> None:
    for _ in range(MAX_LOOKS):
        if holds():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")


@pytest.fixture
def directory_token(deployment: LocalDeployment, administrator: McpUser) -> Iterator[str]:
    """A token of the company's directory; afterwards the organization is as before."""
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION)
    web = httpx2.Client(headers={"authorization": f"Bearer {administrator.token}"}, timeout=60)
    with web:
        made = web.post(f"{deployment.aws.api_url}/v1/directory/token", json={}).json()
        yield str(made["token"])
        web.delete(f"{deployment.aws.api_url}/v1/directory/token")
    with operating(deployment.aws):
        directory.change(ORGANIZATION, lambda _: before)


def test_scim2_tester_finds_nothing(deployment: LocalDeployment, directory_token: str) -> None:
    command = [pypi.programs("scim") / "python", PEER, f"{deployment.aws.api_url}/scim/v2", directory_token]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TESTER_SECONDS, check=False)
    assert done.stderr == ""
    counts = json.loads(done.stdout)
    assert (counts.keys(), counts["SUCCESS"] > 60) == ({"SUCCESS"}, True)


def test_who_is_deactivated_is_out_at_every_door_while_a_batch_of_theirs_runs(
    deployment: LocalDeployment, directory_token: str, user: McpUser, administrator: McpUser, tmp_path: Path
) -> None:
    api = deployment.aws.api_url
    headers = {"authorization": f"Bearer {directory_token}", "content-type": "application/scim+json"}
    own = {"authorization": f"Bearer {user.token}"}
    all_batches = {"authorization": f"Bearer {administrator.token}"}
    pages = {"accept": "text/html"}
    with httpx2.Client(timeout=60, headers=pages) as console, httpx2.Client(timeout=60) as web:
        made = web.post(f"{api}/scim/v2/Users", headers=headers, json={"userName": USER.email}).json()
        # At a sign-in with the verified address the directory finds the user that there is.
        console.get(agree(console, deployment.console_url, USER.sub), follow_redirects=True)
        assert console.get(f"{api}/profile").status_code == 200
        with held(tmp_path / "gate"):
            running, trace = tmp_path / "running", tmp_path / "trace"
            gate = {"file": str(running), "gate": str(tmp_path / "gate")}
            commands = [
                {"id": "wait", "module": "probe", "tool": "look_long", "params": gate},
                {"id": "after", "module": "probe", "tool": "look", "params": {"file": str(trace)}, "after": ["wait"]},
            ]
            started = web.post(f"{api}/v1/batches", headers=own, json={"commands": commands})
            assert started.status_code == 202, started.text
            batch = started.json()["id"]
            until(running.exists)
            change: dict[str, Any] = {"Operations": [{"op": "Replace", "path": "active", "value": "False"}]}
            ended = web.patch(f"{api}/scim/v2/Users/{made['id']}", headers=headers, json=change)
            assert ended.json()["active"] is False
            forgotten = time.monotonic() + directory.ACCESS_CACHE_SECONDS
            until(lambda: web.get(f"{api}/v1/tools", headers=own).status_code == 403)
            until(lambda: web.post(deployment.mcp_url, headers=own, json={}).status_code == 403)
            assert console.get(f"{api}/profile").status_code == 303
            # The sandbox that runs the first step may remember the person for as long as those of the other doors.
            until(lambda: time.monotonic() > forgotten)
        # Who is active again meanwhile would have the rest run.
        until(lambda: web.get(f"{api}/v1/batches/{batch}", headers=all_batches).json()["done"])
        with operating(deployment.aws):
            assert directory.read(ORGANIZATION).users["uma"].membership == "deactivated"
        change["Operations"][0]["value"] = "True"
        web.patch(f"{api}/scim/v2/Users/{made['id']}", headers=headers, json=change)
        until(lambda: web.get(f"{api}/v1/batches/{batch}", headers=own).status_code == 200)
        first, rest = web.get(f"{api}/v1/batches/{batch}", headers=own).json()["steps"]
        assert (first["state"], rest["error"]["code"]) == ("succeeded", "AUTHORIZATION_ERROR")
        assert not trace.exists()
