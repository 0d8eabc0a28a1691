"""`mcpist changes` and `mcpist undo`."""

import pytest

from infra.cli import undo as command
from infra.cli.rest_client import Access
from infra.local.login import LocalLogin
from mcpist.caller import Subject
from mcpist.people import directory
from mcpist.running.changes import ChangeContent
from tests.infra.cli.conftest import Mcpist
from tests.kept_changes import keep


def kept(login: LocalLogin, **more: str) -> str:
    call = "share", {"path": "x", "roles": []}
    content = ChangeContent(tool="share", arguments={}, was={"roles": []}, calls=(call,), nonce=str(more))
    return keep(directory.identify(Subject(login.issuer, "uma")), "files.share", content, **more)


def test_changes_are_listed_and_shown(mcpist: Mcpist, login: LocalLogin) -> None:
    change = kept(login, batch="b_0123456789abcdef")
    (row,) = mcpist("changes", "--batch", "b_0123456789abcdef")["changes"]
    assert (row["id"], row["undoable"]) == (change, True)
    assert mcpist("changes", change)["was"] == {"roles": []}
    assert mcpist("changes", "c_" + "0" * 36, fails=True)["code"] == "CHANGE_NOT_FOUND"


@pytest.mark.usefixtures("mcpist")
def test_a_terminal_shows_what_can_be_undone(login: LocalLogin) -> None:
    assert command.list_changes(Access()).drawing == command.NONE_KEPT
    kept(login, problem="a message that was sent")
    words = command.list_changes(Access()).drawing.split()  # a narrow terminal breaks the lines
    assert {"message", "that", "was", "sent"} <= set(words)
