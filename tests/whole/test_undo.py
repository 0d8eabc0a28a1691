"""A batch is undone on the whole stack; what somebody else has changed stays unless more is asked for."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from infra.local.demo import ADMINISTRATOR, ORGANIZATION, ROLE, USER, Person
from infra.local.deployment import LocalDeployment, operating
from mcpist.caller import Role
from mcpist.people import directory
from mcpist.polling import Polling
from tests import members
from tests.accounts import forget
from tests.whole.conftest import MODULES

WAIT = Polling(initial_seconds=0.1, max_seconds=1)


@pytest.fixture(autouse=True)
def sharing(deployment: LocalDeployment) -> Iterator[None]:
    """The role of the user may share files."""
    with operating(deployment.aws):
        before = directory.read(ORGANIZATION).roles[ROLE]
        modules, own = (*MODULES, "changes", "saved", "automations"), ("files.*", "saved.*", "automations.*")
        members.put_role(ORGANIZATION, Role(ROLE, modules=modules, allow=(*before.allow, *own), destructive=True))
    forget(deployment)
    yield
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, before)
    forget(deployment)


@contextmanager
def undoable(deployment: LocalDeployment) -> Iterator[None]:
    """Let the organization keep what undoes each write."""

    def switch(on: bool) -> None:
        with operating(deployment.aws):
            directory.change(ORGANIZATION, lambda before: replace(before, undoable=on))
        forget(deployment)

    switch(on=True)
    yield
    switch(on=False)


class Program:
    """The program of a person."""

    def __init__(self, deployment: LocalDeployment, person: Person = USER) -> None:
        self.url = deployment.aws.api_url
        self.headers = {"authorization": f"Bearer {deployment.token(person)}"}

    def post(self, path: str, **body: Any) -> Any:
        return httpx2.post(f"{self.url}/v1{path}", json=body, headers=self.headers, timeout=60).json()

    def wait(self, batch: str) -> Any:
        """Wait for the end of a batch, and return it."""
        url = f"{self.url}/v1/batches/{batch}"
        return httpx2.get(url, params={"wait": 20}, headers=self.headers, timeout=60).json()

    def call(self, name: str, /, **parameters: Any) -> Any:
        """Return the result of a tool, to which its person agrees where that is asked."""
        answer = self.post("/tools/call", name=name, parameters=parameters)
        if confirmation := (answer.get("details") or {}).get("confirmation"):
            answer = self.post("/tools/call", name=name, parameters=parameters, confirmation=confirmation)
        return answer["result"]

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
    undone = program.wait(failed["undoneBy"])
    assert (undone["outcomes"], program.roles(path)) == ({"succeeded": 1}, [])


def test_what_a_run_of_an_automation_did_is_undone_by_its_person_and_an_administrator_sees_the_plan(
    deployment: LocalDeployment,
) -> None:
    program, officer = Program(deployment), Program(deployment, ADMINISTRATOR)
    path = program.file("rag.list_tags")
    program.share(path)
    share = {"id": "share", "module": "files", "tool": "share", "params": {"path": path, "roles": [ROLE]}}
    program.call("saved.save", name="share_it", description="Share", commands=[share])
    about = {"name": "shares", "batch": "share_it", "event": "batches.finished", "own_events": True}
    program.call("automations.set", **about, when=[{"equals": ["${event.outcome}", "failed"]}])
    with undoable(deployment):
        fails = {"module": "rag", "tool": "get_doc", "params": {"path": "nowhere.md"}}
        program.post("/batches", commands=[fails], wait=20)

        def runs() -> list[Any]:
            return [one for one in program.call("automations.show", name="shares")["runs"] if one["state"] != "waiting"]

        (run,) = WAIT.wait([], bool, runs, 50)
        done = program.wait(run["batch"])
    assert (done["outcomes"], program.roles(path)) == ({"succeeded": 1}, [ROLE])
    plan = officer.post("/undo", undo=run["batch"], dryRun=True)["plan"]
    assert [(one["was"], one["became"]) for one in plan["undoes"]] == [({"roles": []}, {"roles": [ROLE]})]
    undone = program.post("/undo", undo=run["batch"], wait=20)
    assert (undone["outcomes"], program.roles(path)) == ({"succeeded": 1}, [])
    program.call("automations.delete", name="shares")
    assert officer.post("/undo", undo=run["batch"], dryRun=True)["code"] == "CONFLICT"
