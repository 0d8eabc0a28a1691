"""The routes of approvals: no token approves, and what is approved runs once."""

from dataclasses import replace
from typing import Any

import pytest

from mcpist.caller import Proof, Role, Subject
from mcpist.people import directory
from mcpist.running import approvals
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests import members
from tests.audit_items import audit_items
from tests.rest_api.rest_client import RestClient

FREE = Role("members", modules=NAMES, allow=("rag.*",), destructive=True)
STEP = {"id": "drop", "module": "rag", "tool": "delete_doc", "params": {"path": "old.md"}}


@pytest.fixture
def guarded(rest: RestClient) -> RestClient:
    """A program of a person who needs an approval to destroy."""
    members.put_role("acme", replace(FREE, approval=("rag.*",)))
    directory.access_cache.clear()
    return rest


def approve(rest: RestClient, approval: str) -> None:
    caller = directory.identify(Subject(rest.login.issuer, "ada"), proof=Proof("session", "s"))
    approvals.approve(Permissions(caller, CATALOGUE), approval)


def asked(rest: RestClient, **more: Any) -> str:
    answer = rest.call("rag-delete-doc", parameters={"path": "old.md"}, **more)
    assert (answer.status, answer.json["code"]) == (428, "APPROVAL_REQUIRED")
    approval: str = answer.json["details"]["approval_id"]
    return approval


@pytest.mark.parametrize("user", ["uma", "ada"])
def test_no_token_approves_not_even_an_administrators(guarded: RestClient, user: str) -> None:
    approval = asked(guarded)
    answer = guarded.of(user).post(f"/v1/approvals/{approval}/approve")
    assert (answer.status, answer.json["code"]) == (403, "AUTHORIZATION_ERROR")
    assert answer.json["details"]["url"].endswith(f"/approvals?id={approval}")
    assert asked(guarded) == approval
    assert [row["outcome"] for row in audit_items("acme") if row["tool"] == "approvals.approve"] == [
        "AUTHORIZATION_ERROR"
    ]


def test_a_program_does_not_confirm_what_waits(guarded: RestClient) -> None:
    approval = asked(guarded)
    assert asked(guarded, confirmation=approval) == approval
    started = guarded.post("/v1/batches", {"commands": [STEP]})
    assert started.json["code"] == "APPROVAL_REQUIRED"
    confirmed = guarded.post(f"/v1/batches/{started.json['details']['approval_id']}/confirm")
    assert confirmed.json["code"] == "APPROVAL_REQUIRED"


def test_a_call_runs_once_after_the_approval(guarded: RestClient) -> None:
    approval = asked(guarded)
    approve(guarded, approval)
    ran = guarded.call("rag-delete-doc", parameters={"path": "old.md"})
    assert ran.json["code"] == "FILE_NOT_FOUND"  # it ran: there is no such document
    assert asked(guarded) != approval
    shown = guarded.get(f"/v1/approvals/{approval}").json
    assert (shown["state"], shown["decidedBy"], shown["outcome"]["error"]["type"]) == ("used", "ada", "FileNotFound")
    assert guarded.of("ada").get(f"/v1/approvals/{approval}").json["outcome"] is None


def test_a_batch_starts_by_the_id_of_its_approval(guarded: RestClient) -> None:
    approval = guarded.post("/v1/batches", {"commands": [STEP]}).json["details"]["approval_id"]
    approve(guarded, approval)
    for _ in range(2):
        assert guarded.post(f"/v1/batches/{approval}/confirm").json["id"] == approval


def test_an_idempotency_key_is_free_while_its_call_waits(guarded: RestClient) -> None:
    keyed = guarded.with_headers(idempotency_key="k1")
    approve(guarded, asked(keyed))
    assert keyed.call("rag-delete-doc", parameters={"path": "old.md"}).json["code"] == "FILE_NOT_FOUND"


def test_approvals_are_listed_shown_declined_and_cancelled(guarded: RestClient) -> None:
    approval, ada = asked(guarded), guarded.of("ada")
    (listed,) = ada.get("/v1/approvals").json["approvals"]
    assert (listed["approvalId"], listed["tools"], listed["requestedBy"]) == (approval, ["rag.delete_doc"], "uma")
    assert ada.get("/v1/approvals", of="mine").json["approvals"] == []
    assert [one["approvalId"] for one in guarded.get("/v1/approvals", of="mine").json["approvals"]] == [approval]
    shown = ada.get(f"/v1/approvals/{approval}").json
    assert shown["destructive"] == [{"tool": "rag.delete_doc", "targets": {"path": "old.md"}}]
    assert ada.post(f"/v1/approvals/{approval}/cancel").status == 404
    assert ada.post(f"/v1/approvals/{approval}/decline", {"reason": ""}).status == 400
    assert ada.post(f"/v1/approvals/{approval}/decline", {"reason": "keep it"}).json["state"] == "declined"
    refused = guarded.call("rag-delete-doc", parameters={"path": "old.md"})
    assert "keep it" in refused.json["error"]
    assert guarded.post(f"/v1/approvals/{approval}/cancel").status == 409
    other = guarded.call("rag-delete-doc", parameters={"path": "other.md"}).json["details"]["approval_id"]
    assert guarded.post(f"/v1/approvals/{other}/cancel").json["state"] == "cancelled"


def test_who_could_not_do_it_sees_no_approval(guarded: RestClient) -> None:
    approval = asked(guarded)
    members.put_role("acme", Role("readers", modules=NAMES))
    members.put_user("acme", "eve", name="Eve", subject=Subject(guarded.login.issuer, "eve"), roles=["readers"])
    eve = guarded.of("eve")
    assert eve.get("/v1/approvals").json["approvals"] == []
    for answer in (
        eve.get(f"/v1/approvals/{approval}"),
        eve.post(f"/v1/approvals/{approval}/approve"),
        eve.post(f"/v1/approvals/{approval}/decline", {"reason": "no"}),
        eve.post(f"/v1/approvals/{approval}/cancel"),
    ):
        assert (answer.status, answer.json["code"]) == (404, "APPROVAL_NOT_FOUND")


def test_only_an_administrator_sets_where_people_are_told(guarded: RestClient) -> None:
    address = {"url": "https://hooks.example.com/t0ken"}
    assert guarded.send("PUT", "/v1/organization/notification", address).status == 403
    made = guarded.of("ada").send("PUT", "/v1/organization/notification", address).json
    assert made["secret"].startswith("whsec_")
    (row,) = [row for row in audit_items("acme") if row["tool"] == "approvals.notify" and row["outcome"] == "succeeded"]
    assert row["after"] == {"host": "hooks.example.com"}
    for wrong in ("http://hooks.example.com", "https://", "https://u:p@hooks.example.com", "ftp://x", "https://[", "x"):
        assert guarded.of("ada").send("PUT", "/v1/organization/notification", {"url": wrong}).status == 400


def test_roles_say_what_waits(guarded: RestClient) -> None:
    ada = guarded.of("ada")
    changed = ada.send("PATCH", "/v1/roles/members", {"approval": [], "second_person": ["rag.*"]})
    assert changed.status == 200
    assert ada.get("/v1/roles/members").json["second_person"] == ["rag.*"]
    assert ada.get("/v1/organization").json["roles"]["members"]["approval"] == []
