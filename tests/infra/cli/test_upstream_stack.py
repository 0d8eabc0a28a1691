"""The audit rows of approvals."""

from datetime import UTC, datetime, timedelta

import pytest

from infra.cli.upstream import record_approvals
from mcpist.audit import search as audit_search
from mcpist_services.upstream.trust import Pin
from tests import members

NEW = Pin("read", "2" * 64, "operator", 2)


@pytest.mark.usefixtures("organization")
def test_an_approval_is_in_the_audit_of_every_organization() -> None:
    members.put_organization("globex", name="Globex")
    record_approvals("disk", {"read": Pin("read", "1" * 64, "name", 1), "other": NEW}, [NEW])
    record_approvals("disk", {}, [])
    now = datetime.now(UTC)
    for organization in ("acme", "globex"):
        (row,) = audit_search.find(organization, since=now - timedelta(hours=1), until=now + timedelta(hours=1)).rows
        assert (row["event"], row["user"], row["tool"], row["target"], row["before"], row["after"]) == (
            *("change", "operator", "upstreams.approve", "upstreams.disk"),
            *({"read": "1" * 64}, {"read": "2" * 64}),
        )
