"""Approvals: who decides, what an approval permits, and the row of each transition."""

import time
from dataclasses import replace
from typing import Any

import pytest

from mcpist.aws.clients import AwsError
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller, Proof, Role
from mcpist.errors import (
    ApprovalByProgram,
    ApprovalDecided,
    ApprovalDeclined,
    ApprovalEnded,
    ApprovalNotFound,
    ApprovalPending,
    AuthorizationError,
    InvalidRequest,
    SecondPersonRequired,
    StaleConfirmation,
    TooManyApprovals,
)
from mcpist.people import directory
from mcpist.running import approvals, broker
from mcpist.running.approvals import Approval
from mcpist.running.broker import Credential
from mcpist.running.confirmation import Agreement
from mcpist.running.gate import CONFIRMED, AdmittedUse, ToolUse, admit
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from tests.audit_items import audit_items
from tests.core.sample import CATALOGUE, EVERYTHING, caller

GUARDED = replace(EVERYTHING, approval=("shop.*",))
BY_TWO = replace(EVERYTHING, second_person=("shop.delete_*",))
UMA = replace(caller(GUARDED), proof=Proof("jwt", "j.w.t"))
DELETE = ToolUse("shop", "delete_item", {"item_id": "7"}, "r1")
CLAIMED = Agreement(claimed=True)
PERSON = Proof("session", "s")

pytestmark = pytest.mark.usefixtures("aws")


@pytest.fixture(autouse=True)
def credential(aws: list[str]) -> None:  # noqa: ARG001 - the cache is emptied with AWS
    acts_as("uma@shop")


def acts_as(account: str) -> None:
    """Let the caller's account be known already."""
    held = Credential("t1", account_id="1", account_name=account, owner="user#uma", expires_at=None)
    for user in ("uma", "bob"):
        broker.credential_cache.put(("acme", user, ("everything",), "shop", "", ()), held)


def of(who: Caller) -> Permissions:
    return Permissions(who, CATALOGUE)


def person(user: str, *roles: Role, admin: bool = False) -> Permissions:
    """Somebody who is signed in to the console."""
    return of(replace(caller(*roles), user=user, proof=PERSON, system_role="admin" if admin else "user"))


def asked(who: Caller = UMA, use: ToolUse = DELETE, consent: Agreement = CLAIMED) -> dict[str, Any]:
    """Ask for a use, and return the details of the answer that it waits."""
    with pytest.raises(ApprovalPending) as waits:
        admit(of(who), use, consent)
    return waits.value.details


def given(who: Caller = UMA) -> str:
    """The id of an approval that somebody else has given."""
    approval: str = asked(who)["approval_id"]
    approvals.approve(person("ada", admin=True), approval)
    return approval


def expire(approval: str) -> None:
    ledger_table().set(f"acme#{approval}", approvals.APPROVAL_KEY, {"until": 1})


def rows() -> list[tuple[str, str, str]]:
    events = (row for row in audit_items("acme") if row["event"] == "approval")
    return [(row["user"], row["tool"], row["outcome"]) for row in events]


# -- what waits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("consent", [Agreement(claimed=True), Agreement(can_ask=True), Agreement()])
def test_no_claim_and_no_form_takes_the_place_of_an_approval(consent: Agreement) -> None:
    assert asked(consent=consent)["state"] == "waiting"
    assert rows() == [("uma", "approvals.request", "succeeded")]


def test_only_what_destroys_and_what_a_mask_names_waits() -> None:
    elsewhere = replace(EVERYTHING, approval=("safe.*",), second_person=("shop.list_*",))
    assert of(caller(elsewhere)).approval_mode([of(caller(elsewhere)).tool("shop", "delete_item")]) is None
    assert of(UMA).approval_mode([of(UMA).tool("shop", "list_items")]) is None


def test_the_strictest_role_counts_also_where_a_request_names_another_one() -> None:
    free, strict = replace(EVERYTHING, name="free"), replace(BY_TWO, name="strict")
    both = caller(free, GUARDED, strict)
    tool = of(both).tool("shop", "delete_item")
    for narrowed in (both, directory.in_roles(both, ["free"]), directory.in_roles(both, ["everything"])):
        assert of(narrowed).approval_mode([tool]) == "second_person"
    assert directory.in_roles(caller(free), ["free"]) == caller(free)


def test_a_step_of_a_batch_that_was_approved_does_not_wait_again() -> None:
    assert admit(of(UMA), DELETE, CONFIRMED).approval is None


def test_the_same_request_waits_for_one_approval() -> None:
    first = asked()["approval_id"]
    assert asked()["approval_id"] == first
    assert asked(use=replace(DELETE, arguments={"item_id": "8"}))["approval_id"] != first
    assert len(approvals.list_own(UMA)) == 2


def test_a_person_sees_targets_and_account() -> None:
    (use,) = approvals.find(person("ada", admin=True), asked()["approval_id"]).uses
    assert (use.targets, use.account) == ({"item_id": "7"}, "uma@shop")


def test_one_user_can_keep_only_so_many_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approvals, "MAX_WAITING", 1)
    asked()
    with pytest.raises(TooManyApprovals):
        admit(of(UMA), replace(DELETE, arguments={"item_id": "8"}), Agreement())


# -- who decides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["jwt", "warrant"])
@pytest.mark.parametrize("admin", [True, False])
def test_no_token_approves(kind: Any, *, admin: bool) -> None:
    approval = asked()["approval_id"]
    program = person("ada", EVERYTHING, admin=admin)
    with pytest.raises(ApprovalByProgram):
        approvals.approve(of(replace(program.caller, proof=Proof(kind, "t"))), approval)
    with pytest.raises(ApprovalByProgram):
        approvals.approve(of(replace(program.caller, proof=None)), approval)
    assert asked()["state"] == "waiting"
    assert rows()[-1] == ("ada", "approvals.approve", "AUTHORIZATION_ERROR")


def test_the_requester_approves_as_a_person_unless_a_second_one_is_wanted() -> None:
    approvals.approve(of(replace(UMA, proof=PERSON)), asked()["approval_id"])
    admit(of(UMA), DELETE)
    strict = replace(UMA, roles=(BY_TWO,))
    with pytest.raises(SecondPersonRequired):
        approvals.approve(of(replace(strict, proof=PERSON)), asked(strict)["approval_id"])
    approvals.approve(person("bob", EVERYTHING), asked(strict)["approval_id"])
    admit(of(strict), DELETE)


def test_what_one_person_approved_does_not_do_once_two_are_wanted() -> None:
    given()
    assert asked(replace(UMA, roles=(BY_TWO,)))["mode"] == "second_person"


@pytest.mark.parametrize("roles", [(), (Role("other", modules=("shop",)),), (replace(EVERYTHING, destructive=False),)])
def test_nobody_decides_who_could_not_do_it(roles: tuple[Role, ...]) -> None:
    approval, eve = asked()["approval_id"], person("eve", *roles)
    assert approvals.list_waiting(eve) == []
    for decide in (
        lambda: approvals.approve(eve, approval),
        lambda: approvals.decline(eve, approval, "no"),
        lambda: approvals.find(eve, approval),
        lambda: approvals.cancel(eve.caller, approval),
    ):
        with pytest.raises(ApprovalNotFound):
            decide()
    assert [one["approval_id"] for one in approvals.list_waiting(person("bob", EVERYTHING))] == [approval]


def test_another_organization_has_no_approval() -> None:
    approval = asked()["approval_id"]
    other = person("ada", EVERYTHING, admin=True)
    stranger = of(replace(other.caller, organization="globex"))
    assert approvals.list_waiting(stranger) == []
    with pytest.raises(ApprovalNotFound):
        approvals.approve(stranger, approval)


@pytest.mark.parametrize("id", ["", "b_0", "uma", "approvals#uma", "b_0123456789abcdef"])
def test_no_other_item_is_read_by_an_id(id: str) -> None:  # noqa: A002 - as callers name it
    with pytest.raises(ApprovalNotFound):
        approvals.find(person("ada", admin=True), id)


def test_one_decision_counts() -> None:
    approval = given()
    for decide in (
        lambda: approvals.approve(person("bob", EVERYTHING), approval),
        lambda: approvals.decline(person("bob", EVERYTHING), approval, "no"),
    ):
        with pytest.raises(ApprovalDecided):
            decide()
    assert approvals.list_waiting(person("bob", EVERYTHING)) == []


def test_of_two_decisions_at_once_one_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    approval, bob = asked()["approval_id"], person("bob", EVERYTHING)
    seen = approvals.find(bob, approval)
    approvals.decline(bob, approval, "no")
    monkeypatch.setattr(approvals, "find", lambda *_: seen)
    with pytest.raises(ApprovalDecided):
        approvals.approve(person("ada", admin=True), approval)


# -- what it permits ------------------------------------------------------------------------------------


def test_an_approval_is_good_for_one_run() -> None:
    given()
    first, second = (admit(of(UMA), DELETE) for _ in range(2))
    assert first.approval
    assert second.approval
    approvals.use(UMA, first.approval)
    with pytest.raises(ApprovalDecided):
        second.run(1)
    assert asked()["approval_id"] != first.approval.id


def test_by_its_id_an_approval_permits_its_own_request_alone() -> None:
    approval = given()
    named = Agreement(can_ask=True, question=approval, agreed=True)
    assert asked(use=replace(DELETE, arguments={"item_id": "8"}), consent=named)["approval_id"] != approval
    bob = replace(UMA, user="bob")
    assert asked(bob, consent=named)["approval_id"] != approval
    approvals.use(UMA, _found(admit(of(UMA), DELETE, named)))
    with pytest.raises(StaleConfirmation):
        admit(of(UMA), DELETE, named)


def _found(admitted: AdmittedUse) -> Approval:
    assert admitted.approval
    return admitted.approval


def test_another_account_needs_another_approval() -> None:
    approval = given()
    acts_as("root@shop")
    assert asked()["approval_id"] != approval


def test_the_requesters_permissions_are_those_of_the_run() -> None:
    given()
    with pytest.raises(AuthorizationError):
        admit(of(replace(UMA, roles=(replace(GUARDED, destructive=False),))), DELETE)


def test_a_run_keeps_its_outcome_also_a_failure_and_a_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    approval = given()
    used = approvals.use(UMA, _found(admit(of(UMA), DELETE)))
    monkeypatch.setattr(approvals, "MAX_STORED_BYTES", 20)
    approvals.finish(UMA, used, {"result": {"json": "x" * 100}})
    found = approvals.find_own(UMA, approval)
    assert found
    assert set(found.outcome) == {"file"}
    assert approvals.outcome_of(UMA, found) == {"result": {"json": "x" * 100}}


# -- how it ends ----------------------------------------------------------------------------------------


def test_a_refusal_says_why_and_lasts_until_the_end_of_its_time() -> None:
    approval = asked()["approval_id"]
    for reason in ("", "  ", "x" * 501):
        with pytest.raises(InvalidRequest):
            approvals.decline(person("ada", admin=True), approval, reason)
    approvals.decline(person("ada", admin=True), approval, "not on Fridays")
    for _ in range(2):
        with pytest.raises(ApprovalDeclined, match=r"ada has declined .*: not on Fridays"):
            admit(of(UMA), DELETE)
    ledger_table().set(f"acme#{approval}", approvals.APPROVAL_KEY, {"until": 1})
    assert asked()["approval_id"] != approval


@pytest.mark.parametrize("approved", [False, True])
def test_an_approval_expires_with_one_row_when_anybody_looks(*, approved: bool) -> None:
    approval = given() if approved else asked()["approval_id"]
    expire(approval)
    with pytest.raises(ApprovalDecided):
        approvals.approve(person("ada", admin=True), approval)
    assert approvals.list_waiting(person("ada", admin=True)) == []
    assert rows()[-1] == ("uma", "approvals.expire", "succeeded")
    assert [row[1] for row in rows()].count("approvals.expire") == 1
    found = approvals.find_own(UMA, approval)
    assert found
    assert isinstance(found.refusal(), ApprovalEnded)
    assert asked()["approval_id"] != approval


@pytest.mark.parametrize("approved", [False, True])
def test_a_requester_cancels_what_has_not_run(*, approved: bool) -> None:
    approval = given() if approved else asked()["approval_id"]
    approvals.cancel(UMA, approval)
    assert rows()[-1] == ("uma", "approvals.cancel", "succeeded")
    with pytest.raises(ApprovalDecided):
        approvals.approve(person("ada", admin=True), approval)
    assert asked()["approval_id"] != approval


def test_every_transition_has_a_row_in_the_same_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    approval = asked()["approval_id"]
    with monkeypatch.context() as broken:
        broken.setenv("AUDIT_TABLE", "missing")
        settings.cache_clear()
        with pytest.raises(AwsError):
            approvals.approve(person("ada", admin=True), approval)
    settings.cache_clear()
    assert asked()["state"] == "waiting"
    given()
    approvals.use(UMA, _found(admit(of(UMA), DELETE)))
    assert [row[1] for row in rows()] == [f"approvals.{action}" for action in ("request", "approve", "use")]
    assert not any("item_id" in str(row) for row in audit_items("acme"))


def test_an_approval_is_kept_for_a_week_after_its_end() -> None:
    approval = asked()["approval_id"]
    item = ledger_table().get(f"acme#{approval}", approvals.APPROVAL_KEY)
    assert item
    assert item["until"] - time.time() == pytest.approx(86_400, abs=60)
    assert item["expires_at"] == item["until"] + approvals.KEPT_SECONDS
    assert isinstance(item["request"], bytes), "the arguments are packed, as those of questions are"
