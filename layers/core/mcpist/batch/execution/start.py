"""Start a batch: write it into the ledger, then start its machine, or the relay where it cannot have one now."""

import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from mcpist.aws.clients import AwsError, ResourceExists, client, store_errors
from mcpist.batch.execution.executions import start_execution
from mcpist.batch.execution.plan import Plan, machine_of
from mcpist.batch.execution.resume import Resumption
from mcpist.batch.language.graph import Graph
from mcpist.batch.ledger import ledger, transitions
from mcpist.batch.ledger.items import now
from mcpist.batch.ledger.records import Entry, Header
from mcpist.batch.machine.definition import MACHINE_TYPE, Machine
from mcpist.batch.machine.machine_usage import STACK_TAG, record_use
from mcpist.batch.options import DEFAULT_OPTIONS, BatchOptions
from mcpist.batch_id import new_batch_id
from mcpist.caller import Caller
from mcpist.errors import AlreadyResumed, McpistError, StoreUnavailable, UpstreamUnavailable
from mcpist.files import access, records, storage
from mcpist.files.content import JSON
from mcpist.files.parameters import named_files
from mcpist.files.records import DAY_SECONDS
from mcpist.people.in_flight import begin_batch, end_batch
from mcpist.running import broker
from mcpist.running.confirmation import Confirmed
from mcpist.settings import settings
from mcpist.spending import release_steps, spending
from mcpist.telemetry.invocation import correlation, traceparent
from mcpist.tools.access.permissions import Permissions

# A step that began before the batch closed may still be running.
WARRANT_MARGIN_SECONDS = 300
# AWS checks a definition of up to a megabyte in this time; after it the batch runs on the relay.
CREATE_TIMEOUT_SECONDS = 10
MAX_START_ATTEMPTS = 5
START_RETRY_SECONDS = 0.2

UNCONFIRMED = Confirmed()
"""For a batch that destroys nothing."""

# Errors of CreateStateMachine after which the batch runs on the relay; throttling is StoreUnavailable already.
_CREATE_REFUSAL_CODES = (
    "StateMachineLimitExceeded",
    "StateMachineDeleting",
    "ConflictException",
    "TooManyRequestsException",
)


def start(
    plan: Plan,
    permissions: Permissions,
    options: BatchOptions = DEFAULT_OPTIONS,
    confirmed: Confirmed = UNCONFIRMED,
    *,
    resumption: Resumption | None = None,
    depth: int = 0,
    wait: float = 0,
) -> Header:
    """Write a batch into the ledger and start it. Raises before anything runs that may write.

    One that resumes an old one begins with its results, and does not run its final steps again.
    It gets the id of the question that was agreed to; the caller makes sure that this is used once. The batch of an
    automation, of this depth, is written once however often it is started. Quick reads run within `wait`, the seconds
    for which the caller waits for the end anyway.
    """
    head = replace(_build_header(plan, permissions, options, confirmed.question), depth=depth)
    entries, elements = _build_entries(plan, confirmed), resumption.elements if resumption else ()
    if resumption:
        head, entries = resumption.with_settled_steps(head), resumption.entries(entries)
    return _write_and_start(plan, head, permissions, entries, elements, wait)


def restart(head: Header) -> None:
    """Start a batch again whose executions are lost: what has settled replays, and the rest runs."""
    ledger.forget_executions(head.pk)
    _start_batch_execution(machine_of(Graph(head.needs), settings().step_runner, head.map_steps), head)


def _write_and_start(
    plan: Plan,
    head: Header,
    permissions: Permissions,
    entries: Collection[Entry],
    elements: Collection[Entry],
    wait: float,
) -> Header:
    keep_files(plan, permissions.caller, until=head.closes_at)
    keep_results(head, [*entries, *elements])
    machine, reserved_at = plan.build_machine(settings().step_runner), time.time()
    head = replace(head, form=machine.form)
    if wait:
        head, entries = _run_quick_reads(plan, head, permissions, entries, wait)
    spending.reserve_steps(head.organization, _count_runs(entries, elements), reserved_at)
    try:
        if not head.done:
            head = _with_warrant(plan, head, permissions)
            begin_batch(head.organization, head.user, head.batch, head.closes_at, reserved_at)
        if head.depth and not head.resumes:
            ledger.write_once(head, entries)
        else:
            ledger.write(head, entries, elements)
    except McpistError as error:
        release_steps(head.organization, _count_runs(entries, elements), reserved_at)
        if isinstance(error, AlreadyResumed):
            end_batch(head.organization, head.user, head.batch)
        raise
    if head.done and wait:
        transitions.tell_of_end(head)
    try:
        return head if head.done else _start_batch_execution(machine, head)
    except McpistError as error:  # its machine may have started, and only the answer was lost
        raise error.with_details(may_have_happened=True, batch=head.batch) from None


def _run_quick_reads(
    plan: Plan, head: Header, permissions: Permissions, entries: Collection[Entry], seconds: float
) -> tuple[Header, Collection[Entry]]:
    """Run the quick reads that a batch may consist of."""
    from mcpist.batch.execution import quick_reads  # of the doors, some only look at batches

    if head.options.on_failure == "undo" or not quick_reads.are_all(plan, permissions):
        return head, entries
    return quick_reads.run(head, list(entries), permissions, seconds)


def _with_warrant(plan: Plan, head: Header, permissions: Permissions) -> Header:
    """Return the header with the broker's warrant for the services that it calls, and the accounts that it keeps."""
    services = services_of(plan, permissions)
    if not services:
        return head
    until = int(head.closes_at) + WARRANT_MARGIN_SECONDS
    warrant, pins = broker.warrant(permissions.caller, services, expires_at=until)
    kept = {pin.partition("#")[0] for pin in head.pins}
    return replace(
        head, warrant=warrant, pins=(*head.pins, *(pin for pin in pins if pin.partition("#")[0] not in kept))
    )


def _build_header(plan: Plan, permissions: Permissions, options: BatchOptions, batch: str) -> Header:
    caller, started_at = permissions.caller, now()
    return Header(
        organization=caller.organization,
        batch=batch or new_batch_id(),
        user=caller.user,
        subject=caller.subject,
        roles=caller.role_names,
        warrant="",
        ids=tuple(step.id for step in plan.steps),
        needs=plan.graph.needs,
        started_at=started_at,
        closes_at=started_at + options.timeout,
        expires_at=started_at + settings().keep_seconds,
        map_steps=plan.map_steps,
        continue_on_error=plan.continue_on_error,
        correlation=correlation(),
        traceparent=traceparent(),
        client=caller.client,
        reading_only=caller.reading_only,
        heard=caller.heard,
        options=options,
    )


def services_of(plan: Plan, permissions: Permissions) -> set[str]:
    """Return the services whose accounts a plan uses."""
    modules = [permissions.catalogue.module(tool.module) for tool in plan.tools]
    return {service for module in modules for service in (*module.services, *module.accounts_of())}


def _count_runs(entries: Iterable[Entry], elements: Iterable[Entry]) -> int:
    """Count the steps that will run, and the elements of lists that are known."""
    runs = {entry.index: entry for entry in entries if entry.status is None}
    known = sum(entry.map_items.count for entry in runs.values() if entry.map_items)
    return len(runs) + known - sum(element.index in runs for element in elements)


def _build_entries(plan: Plan, confirmed: Confirmed) -> list[Entry]:
    pairs = zip(plan.steps, plan.tools, strict=True)
    shown, levels = confirmed.shown, confirmed.levels
    return [
        Entry(index, step, tool.effect, shown=shown.get(step.id), agreed=levels.get(step.id, "permit"))
        for index, (step, tool) in enumerate(pairs)
    ]


def _start_batch_execution(machine: Machine, head: Header) -> Header:
    """Start the batch's machine, else the relay."""
    if machine.form == "machine" and head.form == "machine":
        if _start_machine(machine, head):
            return head
        head = transitions.mark_relayed(head)
    if start_execution(_machine_arn(f"{settings().stack_name}-relay"), head.batch, {"batch": head.pk, "step": -1}):
        return head
    raise UpstreamUnavailable(service="Step Functions", problem="the batch's machine did not start")


def _start_machine(machine: Machine, head: Header) -> bool:
    """Start the machine, which the first batch of a shape creates; return False where there can be none just now.

    If only the response was lost, the machine and the relay both run, and each step still settles once.
    """
    name = machine.name(settings().stack_name, settings().machines_role)
    payload = {"batch": head.pk}
    if not record_use(name, machine.states):
        return False
    try:
        if start_execution(_machine_arn(name), head.batch, payload):
            return True
        _create_machine(machine, name)
        for attempt in range(MAX_START_ATTEMPTS):  # a new machine is eventually consistent
            time.sleep(START_RETRY_SECONDS * attempt)
            if start_execution(_machine_arn(name), head.batch, payload):
                return True
    except StoreUnavailable:
        return False
    except AwsError as error:
        if error.code not in _CREATE_REFUSAL_CODES:
            raise
    return False


def creation_client() -> Any:
    """Return the client that creates machines, without retries: a retry while AWS works would slow both requests."""
    return client("stepfunctions", read_seconds=CREATE_TIMEOUT_SECONDS, attempts=1)


def _create_machine(machine: Machine, name: str) -> None:
    """Create a machine unless another batch of this shape has just created it."""
    with suppress(ResourceExists), store_errors("Step Functions"):
        creation_client().create_state_machine(
            name=name,
            definition=machine.definition_json,
            roleArn=settings().machines_role,
            type=MACHINE_TYPE,
            tags=[{"key": STACK_TAG, "value": settings().stack_name}],
        )


def _machine_arn(name: str) -> str:
    """Return a machine's ARN, in the account and region of the function that it calls."""
    partition, _, region, account = settings().step_runner.split(":")[1:5]
    return f"arn:{partition}:states:{region}:{account}:stateMachine:{name}"


def keep_files(plan: Plan, caller: Caller, until: float) -> None:
    """Keep the files that steps name until a time; an error has the line of the first step whose file is missing."""
    for _, step, tool in plan.steps_by_line:
        for name, address in named_files(tool.input_schema, step.params):
            try:
                records.keep(access.find(caller, address, f"params.{name}"), until)
            except McpistError as error:
                raise error.with_details(line=step.line, id=step.id) from None


def keep_results(head: Header, entries: Iterable[Entry]) -> None:
    """Keep the large results that a resumed batch takes over for as long as the batch."""
    for entry in entries:
        stored = [entry.result, entry.map_items.values if entry.map_items else None]
        paths = [storage.result_path(head.organization, one.file["sha256"]) for one in stored if one and one.file]
        if paths and (entry.ended_at or entry.started_at or 0) + settings().file_days * DAY_SECONDS < head.expires_at:
            for path in paths:
                storage.renew(path, JSON)
