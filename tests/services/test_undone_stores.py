"""What a write of our own stores changes is as it was once it is undone: on the stores themselves, through the gate."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from mcpist.batch.execution.undo import plan_undo
from mcpist.caller import Caller, Role
from mcpist.errors import TargetChanged
from mcpist.files import access
from mcpist.files.content import PLAIN
from mcpist.running import changes
from mcpist.running.gate import CONFIRMED, ToolUse, admit
from mcpist.running.options import RunOptions
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests.core.sample import caller

UMA: Caller = replace(
    caller(Role("everything", modules=("rag", "files"), allow=("*",), destructive=True)), undoable=True
)
PATHS = ("a.md", "guides/deploy.md", "guides/日本.md")
WORDS = ("# Deploy", "Press the button.", "日本語", "${step.value}", "---", "tags: [x]", "| a | b |")

pytestmark = pytest.mark.usefixtures("aws")


def run(name: str, arguments: dict[str, Any], **options: Any) -> Any:
    module, _, tool = name.partition(".")
    use = ToolUse(module, tool, arguments, "r1", options=RunOptions(**options))
    return admit(Permissions(UMA, CATALOGUE), use, CONFIRMED).run(20).json


def undo_newest() -> None:
    newest = changes.list_changes(UMA, limit=1)[0]
    for step in plan_undo(UMA, newest.id).commands:
        params = {
            name: value.replace("$${", "${") if isinstance(value, str) else value
            for name, value in step["params"].items()
        }
        run(f"{step['module']}.{step['tool']}", params, undoes=step.get("undoes", ""))


def documents() -> dict[str, str]:
    paths = [one["path"] for one in run("rag.list_docs", {})]
    return {path: run("rag.get_doc", {"path": path})["content"] for path in paths}


def test_documents_are_as_they_were_once_their_writes_are_undone() -> None:
    random, seen = Random(7), set[str]()  # noqa: S311 - no secret
    for _ in range(24):
        before, path = documents(), random.choice(PATHS)
        found = run("rag.get_doc", {"path": path}) if path in before else None
        if found and random.random() < 0.4:
            run("rag.delete_doc", {"path": path})
            done = "deleted"
        else:
            content = "\n\n".join(random.sample(WORDS, random.randint(1, len(WORDS))))
            more = {"tags": ["ops"], "date": "2026-01-31"} if random.random() < 0.4 else {}
            replaces = {"replaces": found["version"]} if found else {}
            run("rag.put_doc", {"path": path, "content": content, **more, **replaces})
            done = "replaced" if found else "made"
        if documents() == before:
            continue
        if random.random() < 0.7:
            undo_newest()
            assert documents() == before, done
            seen.add(done)
    assert seen == {"deleted", "replaced", "made"}


def test_a_document_that_somebody_else_has_replaced_since_stays() -> None:
    made = run("rag.put_doc", {"path": "a.md", "content": "Mine."})
    bob = replace(UMA, user="bob", undoable=False)
    arguments = {"path": "a.md", "content": "Theirs.", "replaces": made["version"]}
    admit(Permissions(bob, CATALOGUE), ToolUse("rag", "put_doc", arguments, "r2"), CONFIRMED).run(20)
    with pytest.raises(TargetChanged):
        undo_newest()
    assert "Theirs." in documents()["a.md"]


def test_a_file_is_shared_as_it_was_once_its_sharing_is_undone() -> None:
    path = access.put(UMA, b"x", PLAIN).path

    def roles() -> list[str]:
        return list(run("files.stat", {"path": path})["roles"])

    for wanted in (["everything"], [], ["everything"]):
        before = roles()
        run("files.share", {"path": path, "roles": wanted})
        if roles() != before:
            undo_newest()
            assert roles() == before
        run("files.share", {"path": path, "roles": wanted})
