"""Tools that ask: a person agrees to each use, and a role needs no right to destroy."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from mcpist.batch.execution.submission import prepare
from mcpist.batch.options import DEFAULT_OPTIONS
from mcpist.caller import Caller, Policies, Role
from mcpist.errors import (
    AgreementPending,
    AgreementRequired,
    ApprovalPending,
    AuthorizationError,
    PolicyRefused,
    StaleConfirmation,
)
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import AdmittedUse, ToolUse, admit
from mcpist.tools.access.permissions import Permissions
from tests.core.running.tracker import Tracker, tracking
from tests.core.sample import caller

WRITER = Role("writer", modules=("tracker",), allow=("*",))
PAY = {"id": "pay", "module": "tracker", "tool": "pay", "params": {"item_id": "7"}}


@pytest.fixture
def tracker(aws: list[str]) -> Iterator[Tracker]:  # noqa: ARG001 - the tables
    with tracking() as service:
        service.items["7"] = {"id": "7", "title": "old", "state": "open", "note": None}
        yield service


def pay(tracker: Tracker, of: Caller, consent: Agreement) -> AdmittedUse:
    return admit(Permissions(of, tracker.catalogue), ToolUse("tracker", "pay", {"item_id": "7"}, "r1"), consent)


def test_a_person_agrees_to_each_use_and_a_role_needs_no_right_to_destroy(tracker: Tracker) -> None:
    of = caller(WRITER)
    with pytest.raises(AgreementRequired, match="only if the user agrees"):
        pay(tracker, of, Agreement())
    with pytest.raises(AgreementPending) as asked:
        pay(tracker, of, Agreement(can_ask=True))
    yes = Agreement(can_ask=True, question=asked.value.details["confirmation"], agreed=True)
    pay(tracker, of, yes).run(20)
    assert tracker.items["7"]["state"] == "paid"
    with pytest.raises(StaleConfirmation):
        pay(tracker, of, yes)
    with pytest.raises(AuthorizationError):
        pay(tracker, caller(Role("reader", modules=("tracker",))), Agreement(claimed=True))
    with pytest.raises(AuthorizationError):
        admit(Permissions(of, tracker.catalogue), ToolUse("tracker", "delete_item", {"item_id": "7"}, "r1"))


def test_an_approval_and_a_policy_about_writes_hold_for_it_too(tracker: Tracker) -> None:
    with pytest.raises(ApprovalPending):
        pay(tracker, caller(replace(WRITER, approval=("tracker.*",))), Agreement(claimed=True))
    base = '@id("base") permit (principal, action, resource);'
    rules = base + '@id("no") forbid (principal, action in Action::"writes", resource);'
    with pytest.raises(PolicyRefused):
        pay(tracker, replace(caller(WRITER), policies=Policies(1, rules)), Agreement(claimed=True))


def test_a_batch_asks_about_it_and_its_mark_says_so(tracker: Tracker) -> None:
    permissions = Permissions(caller(WRITER), tracker.catalogue)
    batch = prepare(permissions, [PAY], DEFAULT_OPTIONS, "r1")
    assert [(use.tool, use.destroys) for use in batch.destructive] == [("pay", False)]
    with pytest.raises(AgreementRequired):
        batch.submit(permissions, Agreement())
    lines = {tool.name: tool.line() for tool in permissions.tools(permissions.module("tracker"))}
    assert ": !? Pay" in lines["pay"]
