"""A batch as a person submits it: check all of it, have its destruction confirmed, start it, and follow it."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from mcpist.audit import record as audit
from mcpist.batch.execution.plan import Plan, plan
from mcpist.batch.execution.previews import differences, with_previews
from mcpist.batch.execution.resume import Resumption, plan_resumption
from mcpist.batch.execution.start import UNCONFIRMED, start
from mcpist.batch.execution.undo import UndoPlan, plan_undo
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.progress import is_over
from mcpist.batch.ledger.records import Header
from mcpist.batch.options import BatchOptions
from mcpist.batch_id import is_batch_id
from mcpist.caller import ApprovalMode, Caller, PolicyLevel, labelled
from mcpist.errors import BatchNotFound, McpistError, NotUndoable, StaleConfirmation, UnknownAccount
from mcpist.people import questions
from mcpist.polling import Polling
from mcpist.render.answer import compact_json
from mcpist.running import approvals, broker, gate
from mcpist.running.accounts import acting_row, service_of
from mcpist.running.approvals import Approval
from mcpist.running.confirmation import Agreement, Confirmed, require_confirmation, shown_by
from mcpist.running.destructive_use import DestructiveUse, order_targets
from mcpist.running.policy import approval_mode, described
from mcpist.running.undoing import describe as why_not
from mcpist.settings import settings
from mcpist.telemetry import invocation
from mcpist.tools.access.permissions import Permissions, acting_caller
from mcpist.tools.declare.tool import Tool

MAX_BATCH_WAIT_SECONDS = 20.0
QUESTION_SECONDS = 10.0  # for the question about a batch, unless less is left
# Without news the delay grows to a twentieth of the time since the last settled step.
LEDGER_POLLING = Polling(initial_seconds=0.05, max_seconds=1.0, growth=1.05)


@dataclass(frozen=True, slots=True)
class Submission:
    """A batch that is checked and can be started."""

    plan: Plan
    runs: Sequence[tuple[Step, Tool]]
    """The steps that will run; those of another batch that succeeded there do not."""
    options: BatchOptions
    resumption: Resumption | None = None
    again: tuple[str, ...] = ()
    """The unknown steps of the other batch that run again."""
    request: Mapping[str, Any] = field(default_factory=dict)
    """What `prepare_described` takes to check it again."""
    undo: UndoPlan | None = None
    """For the undo of changes: what it undoes, and what it leaves."""

    def submit(
        self,
        permissions: Permissions,
        consent: Agreement,
        context: dict[str, Any] | None = None,
        *,
        seconds: float = QUESTION_SECONDS,
        wait: float = 0,
    ) -> Header:
        """Start the batch once its user has agreed to what it destroys, or return the batch that the answer started.

        If a question is asked, the reads for it take no more than half of `seconds`, and `context` is stored with it.
        `wait` is how long the caller waits for the batch's end.
        """
        if self.resumption:
            self.resumption.require_first(consent.question)
        if not self.destructive:
            return self._start(permissions, UNCONFIRMED, wait)

        uses = [gate.ToolUse(use.module, use.tool, {}, invocation.request_id()) for use in self.destructive]
        with gate.refusals_audited(permissions.caller, uses):
            confirmed = self._agreed(permissions, consent, context, seconds)
        level: PolicyLevel = "approve" if self._approval_mode(permissions) == "second_person" else "ask"
        confirmed = replace(confirmed, levels=dict.fromkeys((use.id for use in self.destructive), level))
        if confirmed.used:
            return _already_started(permissions.caller, confirmed.question)
        return self._start(permissions, confirmed)

    def _agreed(
        self, permissions: Permissions, consent: Agreement, context: dict[str, Any] | None, seconds: float
    ) -> Confirmed:
        """Return the agreement of the user, or of another person where a role demands it."""
        bare, subject = self.question(permissions)

        def describe() -> list[DestructiveUse]:
            return self._with_previews(bare, permissions, seconds)

        mode = self._approval_mode(permissions)
        if mode:
            about = subject, self.request, bare, describe
            approval = approvals.require_approval(permissions, mode, *about, named=consent.question)
            return _use_approval(permissions, approval)
        must_be_shown = any(use.each for use in self.destructive)
        return require_confirmation(
            permissions.caller, consent, subject, describe, context, must_be_shown=must_be_shown
        )

    def _approval_mode(self, permissions: Permissions) -> ApprovalMode | None:
        verdicts = self.plan.verdict_by_id
        return approval_mode(
            permissions, (tool for _, tool in self.runs), (verdicts.get(step.id) for step, _ in self.runs)
        )

    def question(self, permissions: Permissions) -> tuple[list[DestructiveUse], tuple[Any, ...]]:
        """Return the steps that destroy something, with their accounts, and the subject of a question about the batch.

        The accounts are part of it: a yes to one is none to another that has become the default meanwhile.
        """
        uses = with_accounts(self.destructive, self.runs, permissions)
        resumed = self.resumption.old.batch if self.resumption else ""
        about = compact_json([*self.options.model_dump().values(), resumed, self.again])
        return uses, ("batch", about, [asdict(step) for step in self.plan.steps], [use.account for use in uses])

    def describe_destruction(self, permissions: Permissions, seconds: float = QUESTION_SECONDS) -> list[DestructiveUse]:
        """Return the steps that destroy something as a person is asked about them, with previews and accounts."""
        return self._with_previews(with_accounts(self.destructive, self.runs, permissions), permissions, seconds)

    def _with_previews(
        self, uses: list[DestructiveUse], permissions: Permissions, seconds: float
    ) -> list[DestructiveUse]:
        return with_previews(uses, self.runs, permissions, invocation.request_id(), seconds, self.resumption)

    @property
    def destructive(self) -> list[DestructiveUse]:
        """The steps to which a person must agree in the order of their lines, without accounts."""
        verdicts = self.plan.verdict_by_id
        asked = {name for name, verdict in verdicts.items() if verdict.level in {"ask", "approve"}}
        runs = [(step, tool) for step, tool in self.runs if tool.asks or step.id in asked]
        uses = [
            (
                DestructiveUse(step.module, step.tool, order_targets(tool, step.params), step.line, step.id, step.each),
                tool,
            )
            for step, tool in sorted(runs, key=lambda run: run[0].line)
        ]
        return [described(use, tool, verdicts.get(use.id)) for use, tool in uses]

    def describe(self, permissions: Permissions, seconds: float = 0) -> dict[str, Any]:
        """Return the checked plan as JSON, with the steps that need confirmation.

        Within some seconds the targets of its writes are read, and it has what they would change now.
        """
        fields = self.plan.as_dict(self.plan.build_machine(settings().step_runner))
        running = [step.id for step, _ in self.runs]
        resumed = {"runs": running} if len(running) < len(self.plan.steps) else {}
        destructive = with_accounts(self.destructive, self.runs, permissions)
        undone = {"undoes": self.undo.changes, "left": self.undo.left} if self.undo else {}
        request = invocation.request_id()
        written = differences(self.runs, permissions, request, seconds, self.resumption) if seconds else []
        previews = {"previews": written} if written else {}
        if self.options.on_failure == "undo":
            fields["on_failure"] = "undo"
        return fields | resumed | undone | previews | {"destructive": [step.as_dict() for step in destructive]}

    def show_again(self, permissions: Permissions, question: str, seconds: float) -> list[DestructiveUse]:
        """Return the destructive steps of a question as they are now, and let a yes permit nothing else."""
        uses = self.describe_destruction(permissions, seconds)
        questions.show_again(permissions.caller, question, shown_by(uses))
        return uses

    def _start(self, permissions: Permissions, confirmed: Confirmed, wait: float = 0) -> Header:
        wait = 0 if self.resumption else wait
        return start(self.plan, permissions, self.options, confirmed, resumption=self.resumption, wait=wait)


def prepare(permissions: Permissions, commands: str | list[Any], options: BatchOptions, request: str) -> Submission:
    """Check a new batch, before anything runs; the tools that the caller may not use are audited."""
    with gate.problems_audited(permissions.caller, request):
        planned = plan(commands, permissions)
    runs = [(step, tool) for _, step, tool in planned.steps_by_line]
    if options.on_failure == "undo":
        _check_undoable(runs)
    _check_accounts(runs, permissions)
    return Submission(planned, runs, options, request={"commands": commands, **options.model_dump()})


def prepare_resumption(
    permissions: Permissions, batch: str, again: Sequence[str], options: BatchOptions, request: str
) -> Submission:
    """Check what is left of an earlier batch of the same user."""
    with gate.problems_audited(permissions.caller, request):
        resumption = plan_resumption(find_own(permissions.caller, batch), permissions, again)
    described = {"resume": batch, "again": list(again), **options.model_dump()}
    return Submission(resumption.plan, resumption.steps_to_run, options, resumption, tuple(again), described)


def prepare_undo(
    permissions: Permissions, undo: str, options: BatchOptions, request: str, *, anyway: bool = False
) -> Submission:
    """Check the undo of a change, of a batch, or of everything since a time; what cannot be undone is left."""
    found = plan_undo(permissions.caller, undo, anyway=anyway)
    submitted = prepare(permissions, list(found.commands), options, request)
    described = {"undo": undo, "anyway": anyway, **options.model_dump()}
    return replace(submitted, request=described, undo=found)


def prepare_described(permissions: Permissions, context: Mapping[str, Any], request: str) -> Submission:
    """Check what a question was about: a new batch, or the rest of an earlier one; the context holds its fields."""
    options = BatchOptions.model_validate(context)
    if "resume" in context:
        return prepare_resumption(permissions, context["resume"], context["again"], options, request)
    if "undo" in context:
        return prepare_undo(permissions, context["undo"], options, request, anyway=context["anyway"])
    return prepare(permissions, context["commands"], options, request)


def find_question(caller: Caller, question: str) -> Mapping[str, Any]:
    """Return the batch that a caller was asked about before it begins, or for which it wants an approval.

    BatchNotFound for other questions and people.
    """
    approval = approvals.find_own(caller, question)
    if approval and not approval.is_call:
        return approval.request
    asked = questions.find_open(caller, question)
    if asked is None or asked.user != caller.user or not {"commands", "resume", "undo"} & asked.context.keys():
        raise BatchNotFound(batch=question)
    return asked.context


def find_own(
    caller: Caller, batch: str, action: str = "batches.read", *, after: Mapping[str, Any] | None = None
) -> Header:
    """Return a batch that this caller started, or for an administrator any of the organization.

    A look into another user's batch has an audit row, without which there is none; `after` is what the row says of it.
    ApprovalPending for one that waits for an approval.
    """
    if not is_batch_id(batch):
        raise BatchNotFound(batch=batch)
    try:
        head = ledger.get_header(ledger.partition_key(caller.organization, batch))
    except BatchNotFound:
        approval = approvals.find_own(caller, batch)
        if approval and approval.state != "used":
            raise approval.refusal() from None
        raise
    if head.user != caller.user and caller.system_role != "admin":
        raise BatchNotFound(batch=batch)
    if head.user != caller.user:
        audit.record_look(caller, action=action, batch=batch, request=invocation.request_id(), after=after)
    return ledger.close(head)


def cancel(caller: Caller, batch: str) -> None:
    """Cancel a batch; does nothing to one that is done."""
    ledger.cancel(find_own(caller, batch, "batches.cancel").pk)


def wait(head: Header, seconds: float) -> Header:
    """Return the header once the batch is done and what undoes it has begun, or when the time for it is over."""
    return LEDGER_POLLING.wait(
        head,
        lambda latest: is_over(latest, time.time()),
        lambda: ledger.close(ledger.get_header(head.pk)),
        min(MAX_BATCH_WAIT_SECONDS, seconds),
        min_delay=lambda latest: latest.min_open_seconds,
    )


def with_accounts(
    destructive: Iterable[DestructiveUse], runs: Iterable[tuple[Step, Tool]], permissions: Permissions
) -> list[DestructiveUse]:
    """Return the steps with the names of the accounts that will act for each of them, where the broker knows them."""
    uses, steps = list(destructive), {step.id: (step, tool) for step, tool in runs}
    found = _find_accounts([steps[use.id] for use in uses], permissions)
    names = [None if service is None else _name_of(row) for service, _, row in found]
    return [replace(use, account=name) for use, name in zip(uses, names, strict=True)]


def _name_of(row: Mapping[str, Any] | None) -> str:
    """Return the name of an account for people; empty where it is not known which one acts."""
    return labelled(row["account_name"], row["label"]) if row else ""


def _check_accounts(runs: Iterable[tuple[Step, Tool]], permissions: Permissions) -> None:
    """Raise UnknownAccount for a step that names an account which its caller does not have, if the broker can tell."""
    naming = [(step, tool) for step, tool in runs if step.account]
    for (step, _), (service, rows, row) in zip(naming, _find_accounts(naming, permissions), strict=True):
        if service is None or (rows and row is None):
            known = ", ".join(sorted({one["label"] for one in rows})) or "-"
            place = {"line": step.line, "id": step.id, "field": "account"}
            raise UnknownAccount(**place, account=step.account, service=service or step.module, known=known)


def _find_accounts(
    runs: Sequence[tuple[Step, Tool]], permissions: Permissions
) -> Iterator[tuple[str | None, list[dict[str, Any]], Mapping[str, Any] | None]]:
    """Yield for each step its service, the broker's rows about accounts there, and that of the account which acts.

    The service is None for a tool that needs none; there are no rows where the broker cannot tell.
    """
    services = [service_of(permissions.catalogue.module(tool.module), tool) for _, tool in runs]
    rows_by_roles: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for (step, tool), service in zip(runs, services, strict=True):
        caller = acting_caller(permissions.caller, tool)
        if caller.role_names not in rows_by_roles:
            rows_by_roles[caller.role_names] = []
            with suppress(McpistError):
                rows_by_roles[caller.role_names] = broker.accounts(caller, sorted({*filter(None, services)}))
        rows = [row for row in rows_by_roles[caller.role_names] if row["service"] == service]
        yield service, rows, acting_row(caller, rows, step.account)


def _check_undoable(runs: Iterable[tuple[Step, Tool]]) -> None:
    """Raise NotUndoable for a step that writes what nothing undoes."""
    for step, tool in runs:
        if not tool.reads and (problem := why_not(tool)):
            place = {"line": step.line, "id": step.id, "field": "on_failure"}
            raise NotUndoable(**place, tool=f"{tool.module}.{tool.name}", problem=problem)


def _use_approval(permissions: Permissions, approval: Approval) -> Confirmed:
    """Use the approval that a person has given to a batch; a list permits only the elements that were shown."""
    is_used = approval.state == "used"
    if not is_used:
        approvals.use(permissions.caller, approval)
    return Confirmed(approval.id, used=is_used, shown=shown_by(approval.uses))


def _already_started(caller: Caller, batch: str) -> Header:
    """Return the batch that an earlier request started; StaleConfirmation if its start failed."""
    try:
        return find_own(caller, batch)
    except BatchNotFound:
        raise StaleConfirmation(field="requestState") from None
