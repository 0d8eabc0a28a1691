"""`mcpist approvals`: what waits, and what a program may do about it."""

import pytest

from infra.cli import approvals as command
from infra.cli.rest_client import Access
from infra.local.login import LocalLogin
from mcpist.caller import Role, Subject
from mcpist.errors import ApprovalPending
from mcpist.people import directory
from mcpist.running import gate
from mcpist.running.gate import ToolUse
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.infra.cli.conftest import Mcpist

GUARDED = Role("members", modules=NAMES, allow=("rag.*",), destructive=True, approval=("rag.*",))


def asked(login: LocalLogin, path: str = "old.md") -> str:
    members.put_role("acme", GUARDED)
    directory.access_cache.clear()
    permissions = Permissions(directory.identify(Subject(login.issuer, "uma")), CATALOGUE)
    with pytest.raises(ApprovalPending) as waits:
        gate.admit(permissions, ToolUse("rag", "delete_doc", {"path": path}, "r1"))
    approval: str = waits.value.details["approval_id"]
    return approval


def test_approvals_are_listed_shown_declined_and_cancelled(mcpist: Mcpist, login: LocalLogin) -> None:
    assert mcpist("approvals", "list")["approvals"] == mcpist("approvals")["approvals"] == []
    approval, other = asked(login), asked(login, "other.md")
    assert {one["approvalId"] for one in mcpist("approvals", "list", "--of", "mine")["approvals"]} == {approval, other}
    assert mcpist("approvals", "show", approval)["destructive"][0]["targets"] == {"path": "old.md"}
    assert mcpist("approvals", "decline", approval, "--reason", "keep it")["state"] == "declined"
    assert mcpist("approvals", "cancel", other)["state"] == "cancelled"
    assert mcpist("approvals", "cancel", "b_0123456789abcdef", fails=True)["code"] == "APPROVAL_NOT_FOUND"
    assert mcpist("approvals", "notify", "https://hooks.example.com/x")["secret"].startswith("whsec_")


@pytest.mark.usefixtures("mcpist")
def test_a_terminal_shows_what_waits_and_where_to_decide(login: LocalLogin) -> None:
    assert command.list_approvals(Access()).drawing == "No approval waits."
    approval = asked(login)
    _, row, where = command.list_approvals(Access()).drawing.splitlines()
    assert row.split()[:4] == [approval, "waiting", "uma", "rag.delete_doc"]
    assert where.startswith("Decide at ")
    assert where.endswith("/approvals")


def test_a_role_demands_an_approval(mcpist: Mcpist) -> None:
    mcpist("role", "set", "members", "--approval", "rag.*,github.*", "--second-person", "supabase.*")
    role = directory.read("acme").roles["members"]
    assert (role.approval, role.second_person) == (("rag.*", "github.*"), ("supabase.*",))
    (warning,) = mcpist("role", "set", "members", "--approval", "rga.*", "--dry-run")["warnings"]
    assert "roles.members.approval" in warning
