"""The janitor's handler: a schedule's event or new audit rows in, what it did out."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import batched
from random import SystemRandom
from typing import TYPE_CHECKING, Any

from janitor.delivery import deliver
from janitor.machines import remove_unused
from mcpist.audit.seals import seal_organization
from mcpist.audit.uses import count_uses
from mcpist.aws import functions
from mcpist.aws.clients import AwsError
from mcpist.aws.snapshot import prepare
from mcpist.batch.saved import records
from mcpist.errors import McpistError, StoreUnavailable
from mcpist.memory import Clock, wall_clock
from mcpist.people import directory
from mcpist.running import approvals
from mcpist.running.broker import end_expired_accounts
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.telemetry.door import Door
from mcpist.telemetry.invocation import with_context

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

MIN_AGE_SECONDS = 900
"""A younger change may still be going on."""
MAX_TIME_FRACTION = 0.5
"""Of the time that is left, for one kind of work; the rest is for those after it. The next run does what is left."""
MAX_EXPIRED_APPROVALS, REST_API_SECONDS = 100, 25
"""Of one organization in one run: each is a transaction of a function that answers within 29 s."""
NIGHT_HOUR = 3  # UTC
MAX_CONCURRENT_ORGANIZATIONS = 16
"""Most of the time is waiting for the tables: one after the other, 10,000 organizations would take minutes."""
DOOR = Door("janitor")
prepare(services=("lambda", "stepfunctions"))


def finish_publications(clock: Clock = wall_clock) -> dict[str, int]:
    """Publish what each user may do where a change of an organization was interrupted; return how many there were."""
    finished = 0
    try:
        finished = directory.finish_publications(clock() - MIN_AGE_SECONDS)
    except (AwsError, McpistError) as error:  # the audit and the machines must not wait for it
        invocation.add_fields(publishing_stopped_by=error.code)
        invocation.count_error(error.code)
    invocation.add_fields(finished_publications=finished)
    return {"finished_publications": finished}


def seal_audit(context: "LambdaContext") -> dict[str, Any]:
    """Seal the audit rows since the last run, and return how many, and how many organizations are left."""
    organizations = directory.organizations()
    rows, left = 0, len(organizations)
    try:
        for sealed in _of_each(organizations, _tend, context):
            rows, left = rows + sealed, left - 1
    except (AwsError, StoreUnavailable) as error:  # the machines must not wait for it
        invocation.add_fields(sealing_stopped_by=error.code)
        invocation.count_error(error.code)
    summary = {"sealed_rows": rows, "unsealed_organizations": left}
    invocation.add_fields(**summary)
    return summary


def end_accounts(context: "LambdaContext") -> dict[str, int]:
    """End the accounts of people whom companies' directories deactivated long enough ago.

    Return how many organizations have some left, or were not reached.
    """
    organizations = directory.organizations()
    left = len(organizations) - sum(_of_each(organizations, _end_accounts, context))
    invocation.add_fields(organizations_with_expired_accounts=left)
    return {"organizations_with_expired_accounts": left}


def _of_each[T](organizations: list[str], work: Callable[[str], T], context: "LambdaContext") -> Iterator[T]:
    """Yield the result of `work` for each organization, several at once, until a part of the time is used."""
    reserve = context.get_remaining_time_in_millis() * (1 - MAX_TIME_FRACTION)
    SystemRandom().shuffle(organizations)  # so that no organization is always the one for which no time is left
    with ThreadPoolExecutor(MAX_CONCURRENT_ORGANIZATIONS) as workers:
        for some in batched(organizations, MAX_CONCURRENT_ORGANIZATIONS, strict=False):
            if context.get_remaining_time_in_millis() <= reserve:
                break
            yield from workers.map(with_context(work), some)


def _end_accounts(organization: str) -> bool:
    """Whether no account of an organization is left that has to end."""
    try:
        return not directory.has_company(organization) or end_expired_accounts(organization)
    except (AwsError, McpistError) as error:  # the other organizations and the machines must not wait for it
        invocation.count_error(error.code)
        return False


def _tend(organization: str) -> int:
    """Check the saved batches of an organization, end its late approvals, seal and count its rows; return how many."""
    now = datetime.now(UTC)
    try:
        check_saved_batches(organization, now)
        if due := approvals.find_due(organization):
            _ask_rest_api(organization, approvals=due[:MAX_EXPIRED_APPROVALS])
    except (AwsError, McpistError) as error:  # the seals must not wait for it
        invocation.count_error(error.code)
    if sealed := seal_organization(organization, now=now):
        count_uses(organization, now)
    return sealed


def check_saved_batches(organization: str, now: datetime) -> None:
    """Have the saved batches of an organization checked against the catalogue, once a night."""
    if now.hour == NIGHT_HOUR and records.has_any(organization):
        _ask_rest_api(organization, saved_batches=True)


def _ask_rest_api(organization: str, **work: Any) -> None:
    """Have the function with the REST API do a work for an organization."""
    message = {"organization": organization, **work}
    functions.invoke(settings().rest_api, "REST API", message, seconds=REST_API_SECONDS, attempts=1)


def handler(event: dict[str, Any], context: "LambdaContext") -> dict[str, Any]:
    """Deliver new rows of the audit; or, by the schedule, do all that the next run would do if it is left."""
    if "Records" in event:
        return DOOR.answer(context, lambda: deliver(event["Records"]))
    return DOOR.answer(
        context,
        lambda: finish_publications() | seal_audit(context) | end_accounts(context) | remove_unused(context),
    )
