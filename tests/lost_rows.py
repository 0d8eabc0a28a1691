"""An audit table that takes some rows no more, and an owner who demands a row for each answer."""

from typing import Any

import pytest

from mcpist.aws.clients import client
from mcpist.settings import settings


def lose_rows(*outcomes: str) -> None:
    """Let DynamoDB refuse the rows with these outcomes, or all, as it does where a permission is missing."""
    table = settings().audit_table

    def refuse(params: Any, **_: Any) -> Any:
        body = str(params["body"])
        if table in body and (not outcomes or any(f'"{outcome}"' in body for outcome in outcomes)):
            error = {"Error": {"Code": "AccessDeniedException", "Message": "no"}, "ResponseMetadata": {}}
            return type("Response", (), {"status_code": 400}), error
        return None

    for operation in ("PutItem", "TransactWriteItems"):
        client("dynamodb").meta.events.register(f"before-call.dynamodb.{operation}", refuse)


def demand_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer nothing from here on whose row is not stored."""
    monkeypatch.setenv("AUDIT_REQUIRED", "on")
    settings.cache_clear()
