"""Starting a batch: the ledger first, then its machine, or the relay where it cannot have one now."""

import re
import secrets
import time
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from mcpist.aws.stores import client, reaching, refused
from mcpist.batch import TIMEOUT_SECONDS
from mcpist.batch.execution.executions import begin
from mcpist.batch.execution.plan import Plan
from mcpist.batch.execution.resume import Resumption
from mcpist.batch.ledger import facts, ledger
from mcpist.batch.ledger.records import Entry, Header
from mcpist.batch.machine.definition import TYPE, Machine
from mcpist.batch.machine.uses import STACK_TAG, use
from mcpist.errors import StoreUnavailable, UpstreamUnavailable
from mcpist.people import quota
from mcpist.running import broker
from mcpist.settings import settings
from mcpist.telemetry.invocation import correlation
from mcpist.tools.permissions import Sieve

WARRANT_SECONDS = 300  # a step that has begun in time may still be running
CREATE_SECONDS = 10  # for a definition of up to a megabyte to be checked; after that the batch runs on the relay
START_ATTEMPTS = 5
START_PAUSE_SECONDS = 0.2

# Why an account gets no further machine just now; throttling has become StoreUnavailable.
_NO_MACHINE = ("StateMachineLimitExceeded", "StateMachineDeleting", "ConflictException", "TooManyRequestsException")


def new_id() -> str:
    """An id that no batch has."""
    return f"b_{secrets.token_hex(8)}"


def is_id(text: str) -> bool:
    """Whether a batch could have this id: what comes from outside becomes part of a key."""
    return re.fullmatch(r"b_[0-9a-f]{16}", text) is not None


def start(plan: Plan, sieve: Sieve, timeout: float = TIMEOUT_SECONDS, batch: str = "") -> Header:
    """Write the batch into the ledger and start it; it closes after `timeout` seconds. Raises before anything runs.

    `batch` is its id where one has been promised: who promises it sees to it that it is used once.
    """
    return _begin(plan, _header(plan, sieve, timeout, batch), sieve, _entries(plan))


def resume(again: Resumption, sieve: Sieve, timeout: float = TIMEOUT_SECONDS, batch: str = "") -> Header:
    """Start a new batch with what another one has come to: what has settled for good is not run again."""
    head = again.carried(_header(again.plan, sieve, timeout, batch))
    return _begin(again.plan, head, sieve, again.entries(_entries(again.plan)), again.elements)


def _begin(
    plan: Plan, head: Header, sieve: Sieve, entries: Collection[Entry], elements: Collection[Entry] = ()
) -> Header:
    made = plan.made(settings().step_runner)
    head = replace(head, form=made.form, warrant=_warrant(plan, head, sieve))
    quota.take_steps(head.organization, _size(entries, elements), time.time())
    ledger.write(head, entries, elements)
    return head if head.done else _execute(made, head)


def _header(plan: Plan, sieve: Sieve, timeout: float, batch: str) -> Header:
    caller, now, batch = sieve.caller, time.time(), batch or new_id()
    return Header(
        pk=ledger.partition(caller.organization, batch),
        organization=caller.organization,
        batch=batch,
        user=caller.user,
        issuer=caller.subject.issuer,
        sub=caller.subject.sub,
        roles=caller.role_names,
        warrant="",
        ids=tuple(step.id for step in plan.steps),
        needs=plan.graph.needs,
        started_at=now,
        closes_at=now + timeout,
        expires_at=now + settings().keep_seconds,
        fans=plan.fans,
        lenient=plan.lenient,
        correlation=correlation(),
    )


def _warrant(plan: Plan, head: Header, sieve: Sieve) -> str:
    """The broker's word for the services that the batch asks; empty where it asks none."""
    services = {service for tool in plan.tools for service in sieve.catalogue.module(tool.module).services}
    if not services:
        return ""
    return broker.warrant(sieve.caller, services, expires_at=int(head.closes_at) + WARRANT_SECONDS)


def _size(entries: Iterable[Entry], elements: Iterable[Entry]) -> int:
    """How many steps will run, and elements of lists that are known."""
    runs = {entry.index: entry for entry in entries if entry.status is None}
    known = sum(entry.fan.count for entry in runs.values() if entry.fan)
    return len(runs) + known - sum(element.index in runs for element in elements)


def _entries(plan: Plan) -> list[Entry]:
    return [
        Entry(
            index=index,
            line=step.line,
            id=step.id,
            module=step.module,
            tool=step.tool,
            effect=tool.effect,
            params=step.params,
            output=step.output,
            raw_output=step.raw_output,
            each=step.each,
            each_limit=step.each_limit,
            when=step.when,
            timeout=step.timeout,
        )
        for index, (step, tool) in enumerate(zip(plan.steps, plan.tools, strict=True))
    ]


def _execute(made: Machine, head: Header) -> Header:
    """Start the batch's machine, else the relay."""
    if made.form == "machine":
        if _started(made, head):
            return head
        head = facts.relay(head)
    if begin(_arn(f"{settings().stack}-relay"), head.batch, {"batch": head.pk, "step": -1}):
        return head
    raise UpstreamUnavailable(service="Step Functions", problem="the batch's machine did not start")


def _started(made: Machine, head: Header) -> bool:
    """Start the machine; the first batch of a shape creates it. False where there can be none just now.

    An answer that was lost may have started it: then the relay runs beside it, and each step settles once all the same.
    """
    name = made.name(settings().stack, settings().machines_role)
    given = {"batch": head.pk}
    if not use(name, made.states):
        return False
    try:
        if begin(_arn(name), head.batch, given):
            return True
        _create(made, name)
        for attempt in range(START_ATTEMPTS):  # a new machine is eventually consistent
            time.sleep(START_PAUSE_SECONDS * attempt)
            if begin(_arn(name), head.batch, given):
                return True
    except StoreUnavailable:
        return False
    except Exception as error:
        if any(refused(error, code) for code in _NO_MACHINE):
            return False
        raise
    return False


def maker() -> Any:
    """The client that makes machines: one that is asked again while it works would make them all twice as slowly."""
    return client("stepfunctions", read_seconds=CREATE_SECONDS, attempts=1)


def _create(made: Machine, name: str) -> None:
    """Make a machine; another batch of this shape may have made it just now."""
    try:
        with reaching("Step Functions"):
            maker().create_state_machine(
                name=name,
                definition=made.definition_json,
                roleArn=settings().machines_role,
                type=TYPE,
                tags=[{"key": STACK_TAG, "value": settings().stack}],
            )
    except Exception as error:
        if not refused(error, "StateMachineAlreadyExists"):
            raise


def _arn(name: str) -> str:
    """The machine's ARN, in the account and region of the function that it calls."""
    partition, _, region, account = settings().step_runner.split(":")[1:5]
    return f"arn:{partition}:states:{region}:{account}:stateMachine:{name}"
