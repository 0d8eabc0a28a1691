"""The commands of administration on the running deployment, and what its clients see of them."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from infra.cli.document import CALLER
from infra.cli.main import run
from infra.cli.stacks import LocalStack
from infra.cli.up_facts import recorded
from infra.local.deployment import LocalDeployment, operating
from mcpist.caller import Subject
from mcpist.errors import LastAdministrator, McpistError
from mcpist.people import directory
from mcpist.people.organization import Organization, User
from tests.whole.conftest import McpUser

ADMINISTRATORS = [f"boss-{number}" for number in range(6)]


@pytest.fixture
def beside(deployment: LocalDeployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalDeployment]:
    """A folder in which the deployment is the last `up`."""
    monkeypatch.chdir(tmp_path)
    with recorded(deployment, LocalStack().facts_file):
        yield deployment


def mcpist(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code = run(list(arguments))
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0, document
    return document["metadata"]  # type: ignore[no-any-return]


def offered(deployment: LocalDeployment, sub: str) -> str:
    """Return the tools of the module rag that a sandbox with empty caches offers a user."""
    deployment.aws.functions["McpEndpointFunction"].stop_idle()
    result = McpUser(deployment, deployment.login.mint(sub, expires_in=600)).call("get_module_schema", modules=["rag"])
    return json.dumps([block.model_dump() for block in result.content])


def test_what_an_administrator_sets_is_what_a_client_sees(
    beside: LocalDeployment, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    zoe = ("--token", beside.login.mint("zoe", expires_in=600))
    mcpist(capsys, "org", "create", "globex", "--name", "Globex", "--administrator", "zoe", "--sub", "zoe")
    mcpist(capsys, "role", "create", "readers", *zoe, "--modules", "rag")
    mcpist(capsys, "user", "set", "zoe", *zoe, "--roles", "readers")
    assert "get_doc(" in offered(beside, "zoe")
    assert "put_doc(" not in offered(beside, "zoe")
    mcpist(capsys, "org", "export", "globex", *zoe, "--file", "globex.yaml")
    mcpist(capsys, "role", "set", "readers", *zoe, "--allow", "rag.put_doc")
    assert "put_doc(" in offered(beside, "zoe")
    mcpist(capsys, "org", "set", "globex", *zoe, "--disable", "rag.get_*")
    assert "get_doc(" not in offered(beside, "zoe")
    undone = mcpist(capsys, "org", "import", "globex.yaml", *zoe)
    assert {change["path"] for change in undone["changes"]} == {"disabled", "roles.readers.allow"}
    assert "get_doc(" in offered(beside, "zoe")
    assert "put_doc(" not in offered(beside, "zoe")
    assert run(["user", "remove", "zoe", *zoe]) == CALLER
    assert json.loads(capsys.readouterr().out)["error"]["message"] == "globex would have no administrator."
    changed = mcpist(capsys, "audit", *zoe, "--event", "change", "--tool", "organization.update")["rows"]
    assert [(row["user"], row["after"]["disabled"], row["door"]) for row in changed] == [
        ("zoe", ["rag.get_*"], "rest_api")
    ]
    assert (tmp_path / "globex.yaml").read_text().startswith("organization: globex\n")


def test_of_all_administrators_who_step_down_at_the_same_moment_one_stays(deployment: LocalDeployment) -> None:
    barrier = Barrier(len(ADMINISTRATORS))

    def step_down(user: str) -> McpistError | None:
        def edit(before: Organization) -> Organization:
            return before.with_user(replace(before.user(user), system_role="user"))

        barrier.wait(timeout=30)
        try:
            directory.change("initech", edit)
        except LastAdministrator as error:
            return error
        return None

    users = {name: User(name, name, Subject(deployment.login.issuer, name), "admin") for name in ADMINISTRATORS}
    with operating(deployment.aws), ThreadPoolExecutor(len(users)) as threads:
        directory.replace_organization(Organization("initech", "Initech", users=users))
        refusals = [error for error in threads.map(step_down, users) if error]
        assert len(refusals) == 1
        assert len(directory.read("initech").administrators) == 1
