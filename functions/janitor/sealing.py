"""Seal the audit rows of all organizations while there is time."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import batched
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from mcpist.audit.seals import seal_organization
from mcpist.aws.clients import AwsError
from mcpist.errors import StoreUnavailable
from mcpist.people import directory
from mcpist.telemetry import invocation

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

MAX_TIME_FRACTION = 0.5
"""Of the invocation's time; the rest is for the machines. What is left is sealed by the next run."""


MAX_CONCURRENT_ORGANIZATIONS = 16
"""Most of the time is waiting for the tables: one after the other, 10,000 organizations would take minutes."""


def seal_audit(context: "LambdaContext") -> dict[str, Any]:
    """Seal the rows since the last run, and return how many there were and how many organizations are left."""
    reserve = context.get_remaining_time_in_millis() * (1 - MAX_TIME_FRACTION)
    organizations = directory.organizations()
    SystemRandom().shuffle(organizations)  # so that no organization is always the one for which no time is left
    rows, left = 0, len(organizations)
    try:
        with ThreadPoolExecutor(MAX_CONCURRENT_ORGANIZATIONS) as workers:
            for some in batched(organizations, MAX_CONCURRENT_ORGANIZATIONS, strict=False):
                if context.get_remaining_time_in_millis() <= reserve:
                    break
                for sealed in workers.map(_seal, some):
                    rows, left = rows + sealed, left - 1
    except (AwsError, StoreUnavailable) as error:  # the machines must not wait for it
        invocation.add_fields(sealing_stopped_by=error.code)
        invocation.count_error(error.code)
    summary = {"sealed_rows": rows, "unsealed_organizations": left}
    invocation.add_fields(**summary)
    return summary


def _seal(organization: str) -> int:
    return seal_organization(organization, datetime.now(UTC))
