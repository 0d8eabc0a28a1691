"""The start of a run: as the automation's person, once, and with the steps to which that person agreed."""

import hashlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from mcpist.automations import records
from mcpist.automations.records import Automation, AutomationState, Run
from mcpist.aws.attributes import json_bytes
from mcpist.batch.execution.found_steps import Saving
from mcpist.batch.execution.plan import Plan, plan
from mcpist.batch.execution.start import start
from mcpist.batch.execution.submission import Submission, prepare, prepare_resumption
from mcpist.batch.language.references import PARAM, find_references
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.records import Header
from mcpist.batch.options import DEFAULT_OPTIONS
from mcpist.batch.saved.expansion import SavedTool, call_line
from mcpist.batch.saved.records import MODULE
from mcpist.caller import Caller, ClientInfo, Proof
from mcpist.errors import AlreadyResumed, AuthenticationError, AuthorizationError, InvalidRequest, problem_text
from mcpist.people import directory
from mcpist.running import broker
from mcpist.running.confirmation import Confirmed
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import Catalogue

_BATCH_CHANGED = "saved.{batch} has changed: set the automation again to agree to its steps as they are now"


class Stopped(Exception):
    """The automation itself must not go on."""

    def __init__(self, state: AutomationState, problem: str) -> None:
        super().__init__(problem)
        self.state, self.problem = state, problem

    def apply(self, automation: Automation) -> None:
        """Stop the automation, unless its person has set it again meanwhile."""

        def decide(now: Automation) -> Automation | None:
            is_same = now.permit == automation.permit
            return replace(now, state=self.state, problem=self.problem) if is_same else None

        records.change(automation.organization, automation.name, decide)


def start_batch(automation: Automation, run: Run, catalogue: Catalogue) -> Header:
    """Start the batch of a run, or what goes on with it, as the automation's person and once."""
    permissions = Permissions(_caller(automation), catalogue)
    try:  # the broker knows whether the permission was ended, even for a batch that needs no account
        broker.request(permissions.caller, "status", services=[])
    except AuthenticationError as error:
        raise Stopped("ended", problem_text(error)) from None
    if agreed_steps(permissions, automation.batch).fingerprint != automation.fingerprint:
        raise Stopped("paused", _BATCH_CHANGED.format(batch=automation.batch))
    line = call_line(permissions, MODULE, automation.batch, run.params)
    try:
        if run.attempt:
            again = prepare_resumption(permissions, run.batch, (), DEFAULT_OPTIONS, invocation.request_id())
            _check_unasked(again)
            return start(again.plan, permissions, resumption=again.resumption, depth=run.depth)
        prepared = prepare(permissions, [line], DEFAULT_OPTIONS, invocation.request_id())
        _check_unasked(prepared)
        return start(prepared.plan, permissions, confirmed=Confirmed(question=run.batch), depth=run.depth)
    except AlreadyResumed as error:
        return ledger.get_header(ledger.partition_key(automation.organization, str(error.details["by"])))


def _caller(automation: Automation) -> Caller:
    """Return the automation's person as the directory knows it now, with the roles of then."""
    try:
        caller = directory.identify(
            automation.subject,
            organization=automation.organization,
            roles=automation.roles,
            proof=Proof("permit", automation.sealed),
        )
    except AuthorizationError as error:
        raise Stopped("ended", problem_text(error)) from None
    if caller.user != automation.user:
        raise Stopped("ended", "its person is another one now")
    heard = automation.event if find_references(automation.parameters) else ""
    return replace(caller, client=ClientInfo(f"automation {automation.name}"), heard=heard)


def _check_unasked(prepared: Submission) -> None:
    """Refuse a batch about which a person would be asked now, by a policy or since a tool destroys."""
    if asked := sorted({f"{one.module}.{one.tool}" for one in prepared.destructive}):
        problem = f"a person must agree to {', '.join(asked)}, and nobody is there to be asked"
        raise InvalidRequest(field="batch", problem=problem)


def take_place(automation: Automation, run: Run) -> str:
    """Take one of the automation's places, and one of the day's runs; else return why: `full`, or a problem."""
    today, why = datetime.now(UTC).date().isoformat(), "the automation was deleted"

    def decide(now: Automation) -> Automation | None:
        nonlocal why
        used = now.day_runs if now.day == today else 0
        why = _refusal(now, run, used)
        if why or run.id in now.running:
            return None
        return replace(now, running=(*now.running, run.id), day=today, day_runs=used + (not run.attempt))

    records.change(automation.organization, automation.name, decide)
    return why


def _refusal(now: Automation, run: Run, used: int) -> str:
    if run.id in now.running:
        return ""
    if now.state != "active":
        return f"the automation is {now.state}"
    if used >= now.runs_a_day and not run.attempt:
        return f"its {now.runs_a_day} runs of the day are used up"
    return "full" if len(now.running) >= now.at_once else ""


_WOULD_ASK = "its person must agree to {tools}: nobody is there to be asked when an automation runs"


@dataclass(frozen=True, slots=True)
class AgreedSteps:
    """The steps of a saved batch, with its parameters in the place of their values."""

    tool: SavedTool
    plan: Plan

    @property
    def fingerprint(self) -> str:
        """The digest of the steps, which changes with each of them."""
        lines: list[Any] = [{"id": step.id, **step.as_line()} for step in self.plan.steps]
        return hashlib.sha256(json_bytes(lines)).hexdigest()


def agreed_steps(permissions: Permissions, batch: str) -> AgreedSteps:
    """Return the present steps of a saved batch; InvalidRequest for one about whose steps a person is asked."""
    tool = permissions.tool(MODULE, batch)
    if not isinstance(tool, SavedTool):
        raise InvalidRequest(field="batch", problem=f"{MODULE}.{batch} is no saved batch")
    names = list(tool.saved.parameters)
    line = {"module": MODULE, "tool": batch, "params": {name: f"${{{PARAM}.{name}}}" for name in names}}
    planned = plan([line], permissions, Saving("", names))
    if asked := sorted({f"{one.module}.{one.name}" for one in planned.tools if one.asks}):
        raise InvalidRequest(field="batch", problem=_WOULD_ASK.format(tools=", ".join(asked)))
    return AgreedSteps(tool, planned)
