"""The janitor has approvals ended whose time is over, each with its audit row, though nobody looks at them."""

import io
import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from janitor.handler import check_saved_batches, seal_audit
from mcpist.aws import clients
from mcpist.aws.table import ledger_table
from mcpist.batch.saved import records
from mcpist.caller import Proof
from mcpist.errors import ApprovalPending
from mcpist.running import approvals
from mcpist.running.destructive_use import DestructiveUse
from mcpist.settings import settings
from mcpist.tools.access.permissions import Permissions
from rest_api import handler as rest_api
from tests.audit_items import audit_items
from tests.core.sample import CATALOGUE, EVERYTHING, caller
from tests.lambda_context import Context


@pytest.fixture
def sent(organization: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:  # noqa: ARG001 - it has members
    """The messages of the janitor to the REST API's function."""
    sent: list[dict[str, Any]] = []

    def answer(params: Any, **_: Any) -> Any:
        sent.append(json.loads(params["body"]))
        response = rest_api.handler(sent[-1], Context())
        payload = {"Payload": io.BytesIO(json.dumps(response).encode()), "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), payload

    clients.session().register("before-call.lambda.Invoke", answer)
    monkeypatch.setenv("REST_API", "rest-api")
    settings.cache_clear()
    return sent


def ask(item: str) -> str:
    permissions, uses = (
        Permissions(caller(EVERYTHING), CATALOGUE),
        [DestructiveUse("shop", "delete_item", {"id": item})],
    )
    with pytest.raises(ApprovalPending) as waits:
        approvals.require_approval(permissions, "required", [item], {"tool": "delete_item"}, uses, lambda: uses)
    approval: str = waits.value.details["approval_id"]
    return approval


def expirations() -> list[tuple[str, str]]:
    return sorted((row["user"], row["target"]) for row in audit_items("acme") if row["tool"] == "approvals.expire")


def test_approvals_whose_time_is_over_end_though_nobody_looks(
    sent: list[dict[str, Any]],
) -> None:
    approved, waiting = ask("1"), ask("2")
    person = replace(caller(EVERYTHING), user="ada", system_role="admin", proof=Proof("session", "s"))
    approvals.approve(Permissions(person, CATALOGUE), approved)
    seal_audit(Context())
    assert sent == []
    for item in ledger_table().query("acme#approvals"):
        for key in ((item["pk"], item["sk"]), (f"acme#{item['approval_id']}", approvals.APPROVAL_KEY)):
            ledger_table().set(key[0], key[1], {"until": 1})
    ask("3")
    seal_audit(Context())
    assert expirations() == [("uma", f"approvals.{id_}") for id_ in sorted((approved, waiting))]
    ended = ledger_table().get(f"acme#{waiting}", approvals.APPROVAL_KEY)
    assert ended
    assert ended["state"] == "expired"
    seal_audit(Context())
    assert len(sent) == 1


def test_saved_batches_are_checked_once_a_night(sent: list[dict[str, Any]]) -> None:
    night, day = datetime(2026, 11, 27, 3, 30, tzinfo=UTC), datetime(2026, 11, 27, 4, 30, tzinfo=UTC)
    check_saved_batches("acme", night)
    assert not sent
    line = {"id": "tags", "module": "rag", "tool": "list_tags"}
    fields = {"parameters": {}, "answer": "tags", "version": 1, "saved_by": "uma", "saved_at": 1}
    one = records.SavedBatch("tags", "uma", "Tags", [line], **fields)
    records.store("acme", one, None)
    check_saved_batches("acme", day)
    assert not sent
    check_saved_batches("acme", night)
    assert sent == [{"organization": "acme", "saved_batches": True}]
    assert records.read("acme", fresh=True).by_name["tags"].checked_at > 1
