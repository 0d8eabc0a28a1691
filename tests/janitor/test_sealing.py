"""The janitor seals the audit of every organization, within its time."""

from datetime import UTC, datetime, timedelta

import boto3
import pytest

from janitor import handler
from janitor.handler import seal_audit
from mcpist.audit import record as audit
from mcpist.audit.verification import verify
from mcpist.aws.table import Table
from mcpist.settings import settings
from tests import members


class Context:
    """The part of Lambda's context that the function reads: the time that is left at each look."""

    def __init__(self, *milliseconds: int) -> None:
        self.milliseconds = list(milliseconds)

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds.pop(0) if len(self.milliseconds) > 1 else self.milliseconds[0]


@pytest.fixture(autouse=True)
def organizations(organization: str) -> list[str]:
    """Two organizations with a row of two hours ago each."""
    members.put_organization("globex", name="Globex")
    moment = datetime.now(UTC) - timedelta(hours=2)
    for name in (organization, "globex"):
        row = audit.new_row(
            organization=name,
            user="uma",
            roles=[],
            event="use",
            service="s",
            account="",
            outcome="succeeded",
            request="",
        )
        audit.audit_table().put(audit.keyed(row, name, f"{audit.timestamp(moment)}#a"))
    return [organization, "globex"]


def test_every_organization_is_sealed(organizations: list[str]) -> None:
    assert seal_audit(Context(29_000)) == {"sealed_rows": 2, "unsealed_organizations": 0}
    for name in organizations:
        assert (verify(name, datetime.now(UTC)).findings, verify(name, datetime.now(UTC)).rows) == ((), 1)
        assert Table(settings().seals_table, "seals").query(f"{name}#uses")  # and counted


def test_sealing_leaves_half_of_the_time_and_the_next_run_continues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handler, "MAX_CONCURRENT_ORGANIZATIONS", 1)
    assert seal_audit(Context(29_000, 29_000, 14_000)) == {"sealed_rows": 1, "unsealed_organizations": 1}
    assert seal_audit(Context(29_000)) == {"sealed_rows": 1, "unsealed_organizations": 0}


def test_a_store_that_is_missing_does_not_keep_the_janitor_from_its_machines() -> None:
    boto3.client("dynamodb").delete_table(TableName=settings().seals_table)
    assert seal_audit(Context(29_000)) == {"sealed_rows": 0, "unsealed_organizations": 2}
