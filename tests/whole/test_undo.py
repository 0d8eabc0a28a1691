"""A batch is undone on the whole stack; what somebody else has changed stays unless more is asked for."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from infra.local.demo import ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from mcpist.caller import Role
from mcpist.people import directory
from tests import members
from tests.accounts import forget
from tests.whole.conftest import MODULES


@pytest.fixture(autouse=True)
def sharing(deployment: LocalDeployment) -> Iterator[None]:
    """The role of the user may share files."""
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION).roles[ROLE]
        members.put_role(ORGANIZATION, Role(ROLE, modules=(*MODULES, "changes"), allow=(*before.allow, "files.*")))
    forget(deployment)
    yield
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, before)
    forget(deployment)


class Program:
    """The user's program."""

    def __init__(self, deployment: LocalDeployment) -> None:
        self.url = deployment.aws.api_url
        self.headers = {"authorization": f"Bearer {deployment.token(USER)}"}

    def post(self, path: str, **body: Any) -> Any:
        return httpx2.post(f"{self.url}/v1{path}", json=body, headers=self.headers, timeout=60).json()

    def file(self, tool: str) -> str:
        """Keep the answer of a tool as a file, and return its path."""
        path: str = self.post("/tools/call", name=tool, options={"asFile": True})["file"]["path"]
        return path

    def share(self, path: str, *roles: str) -> None:
        assert self.post("/tools/call", name="files.share", parameters={"path": path, "roles": [*roles]})["success"]

    def roles(self, path: str) -> list[str]:
        found: list[str] = self.post("/tools/call", name="files.stat", parameters={"path": path})["result"]["roles"]
        return found


def test_a_batch_is_undone_but_for_what_somebody_else_has_changed(deployment: LocalDeployment) -> None:
    program = Program(deployment)
    ours, theirs = program.file("rag.list_tags"), program.file("rag.list_docs")
    for path in (ours, theirs):
        program.share(path)
    shares = {"ours": ours, "theirs": theirs}
    steps = [
        {"id": name, "module": "files", "tool": "share", "params": {"path": path, "roles": [ROLE]}}
        for name, path in shares.items()
    ]
    batch = program.post("/batches", commands=steps, undoable=True, wait=20)
    assert (batch["state"], program.roles(ours), program.roles(theirs)) == ("done", [ROLE], [ROLE])
    program.share(theirs)
    plan = program.post("/undo", undo=batch["id"], dryRun=True)["plan"]
    assert [one["was"] for one in plan["undoes"]] == [{"roles": []}, {"roles": []}]
    undone = program.post("/undo", undo=batch["id"], wait=20)
    errors = [step["error"]["details"]["differences"] for step in undone["steps"] if step["error"]]
    assert errors == [{"roles": {"left": [ROLE], "now": []}}]
    assert (program.roles(ours), undone["outcomes"]) == ([], {"failed": 1, "succeeded": 1})
    again = program.post("/undo", undo=batch["id"], anyway=True, wait=20)
    assert again["outcomes"] == {"succeeded": 1}
    assert program.post("/undo", undo=batch["id"])["code"] == "CONFLICT"
    listed = program.post("/tools/call", name="changes.list", parameters={"batch": batch["id"]})["result"]
    assert {one["undone_by"] for one in listed} == {undone["id"], again["id"]}


def test_half_of_a_batch_fails_and_what_succeeded_is_undone_by_itself(deployment: LocalDeployment) -> None:
    program = Program(deployment)
    path = program.file("rag.list_tags")
    program.share(path)
    steps = [
        {"id": "good", "module": "files", "tool": "share", "params": {"path": path, "roles": [ROLE]}},
        {
            "id": "bad",
            "module": "files",
            "tool": "share",
            "after": "good",
            "params": {"path": path, "roles": ["nobody"]},
        },
    ]
    failed = program.post("/batches", commands=steps, onFailure="undo", wait=20)
    assert failed["outcomes"] == {"failed": 1, "succeeded": 1}
    undone = httpx2.get(
        f"{program.url}/v1/batches/{failed['undoneBy']}", params={"wait": 20}, headers=program.headers, timeout=60
    ).json()
    assert (undone["outcomes"], program.roles(path)) == ({"succeeded": 1}, [])
