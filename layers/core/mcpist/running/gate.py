"""The gate: the only way in which a door uses a tool, or a resource or a prompt of an upstream server.

In this order: the caller's permissions, the tool's effect, the confirmation or approval of what destroys, the account
of the roles that permit the tool, the service's limits, the run, and one audit row for the outcome, a refusal included.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from mcpist import errors
from mcpist.audit import record as audit
from mcpist.caller import POLICY_LEVELS, Caller
from mcpist.errors import McpistError
from mcpist.files.parameters import reference_names
from mcpist.render.shows import Shows
from mcpist.running import approvals
from mcpist.running.accounts import Account, acting_account, service_of
from mcpist.running.approvals import Approval
from mcpist.running.confirmation import Agreement, require_confirmation
from mcpist.running.destructive_use import DestructiveUse, order_targets
from mcpist.running.options import DEFAULT_OPTIONS, RunOptions
from mcpist.running.policy import (
    approval_mode,
    described,
    facts_of,
    judge,
    judge_material,
    reason_of,
    refusal,
    refusal_of_all,
)
from mcpist.running.run import ToolResult as ToolResult
from mcpist.running.run import account_links, audited, run_tool
from mcpist.spending import spending
from mcpist.tools.access.permissions import Permissions, acting_caller
from mcpist.tools.declare.correction import correcting
from mcpist.tools.declare.module import Module, UpstreamClient
from mcpist.tools.declare.tolerance import tolerant
from mcpist.tools.declare.tool import Tool
from mcpist.tools.search.index import Material, ModuleEntry

if TYPE_CHECKING:
    from mcp_types import GetPromptResult, ReadResourceResult

    from mcpist.policies.decision import Verdict
    from mcpist.policies.place import StepPlace

# What a caller may not do; a wrong argument or name is not a refusal.
REFUSALS = (errors.AdministratorError, errors.AccountError, errors.ConfirmationRequired, errors.ApprovalDeclined)
MAX_TARGET_SECONDS = 10.0  # for the read of a write's target
MAX_AUDITED_NAME_CHARACTERS = 200  # of a name that a caller sent

NOT_ASKED = Agreement()
CONFIRMED = Agreement(claimed=True, is_step=True)
"""The consent of a step: its batch was confirmed or approved before it started."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A use of a tool, as a caller asks for it."""

    module: str
    tool: str
    arguments: Mapping[str, Any]
    request: str
    """The id of the request."""
    batch: str = ""
    """The id of the batch that the use is a step of; empty for a call."""
    step: str = ""
    """The step's id."""
    options: RunOptions = DEFAULT_OPTIONS
    raw_output: bool = False
    """Whether the service's own JSON is wanted."""
    place: "StepPlace | None" = None
    """For policies: the place of a step in its batch."""

    @property
    def subject(self) -> list[Any]:
        """The subject of a question about this use."""
        return ["call", [self.module, self.tool, dict(self.arguments), self.options.account]]

    def as_request(self) -> dict[str, Any]:
        """Return the use as an approval keeps it."""
        named = {"module": self.module, "tool": self.tool, "arguments": dict(self.arguments)}
        return named | {"options": self.options.model_dump(), "raw_output": self.raw_output}

    @classmethod
    def of_request(cls, kept: Mapping[str, Any], request: str) -> Self:
        """Return the use that an approval has kept; `request` is the id of the request that runs it."""
        return cls(**{**kept, "options": RunOptions.model_validate(kept["options"])}, request=request)


@dataclass(frozen=True, slots=True)
class AdmittedUse:
    """A use that is permitted and confirmed."""

    permissions: Permissions
    module: Module
    tool: Tool
    use: ToolUse
    approval: Approval | None = None
    """The approval that the run uses; None if it needs none."""

    @property
    def caller(self) -> Caller:
        """The caller in all its roles, with the account that the use names."""
        return replace(self.permissions.caller, account=self.use.options.account)

    @property
    def service(self) -> str | None:
        """The service whose account acts; None if the tool needs none."""
        return service_of(self.module, self.tool)

    def prepare_account(self) -> None:
        """Fetch the account into memory before work begins that must not begin twice.

        Only ExecutionsExhausted is raised; every other error comes again, with its audit row, when the use runs.
        """
        try:
            account_of(self)
        except errors.ExecutionsExhausted:
            raise
        except McpistError:
            pass

    def run(self, seconds: float) -> ToolResult:
        """Return the tool's result within some seconds; with an approval it runs once, and its outcome is kept."""
        if not self.use.batch:
            spending.add(self.caller.organization, "calls")
        if self.approval is None:
            return self._run(seconds)
        approval = approvals.use(self.caller, self.approval)
        try:
            result = self._run(seconds)
        except McpistError as error:
            approvals.finish(self.caller, approval, {"error": errors.to_message(error)})
            raise
        with answering(self.tool):
            approvals.finish(self.caller, approval, {"result": asdict(result)})
        return result

    def _run(self, seconds: float) -> ToolResult:
        use = self.use
        # The ledger keeps the errors of steps, so none shows the values that references gave.
        with nullcontext() if use.batch else correcting(self.tool, use.arguments):
            return run_tool(
                self.caller,
                self.module,
                self.tool,
                use.arguments,
                request=use.request,
                batch=use.batch,
                seconds=seconds,
                options=use.options,
                other_tools=OtherReadingTools(self.permissions, use),
                step=use.step,
            )


@dataclass(frozen=True, slots=True)
class OtherReadingTools:
    """The tools that a tool may read by: each is used through the gate, for the same request and batch."""

    permissions: Permissions
    use: ToolUse

    def may_use(self, module: str, tool: str) -> bool:
        """Whether the caller may use a tool."""
        entry = self.permissions.catalogue.index.modules.get(module)
        return entry is not None and tool in entry.tools and self.permissions.allows(entry.tools[tool])

    def read(self, module: str, tool: str, arguments: Mapping[str, Any], seconds: float) -> tuple[Any, Shows]:
        """Return a tool's JSON and what it shows; AccountError, without an audit row, where no account is connected."""
        options = self.use.options.model_copy(update={"account": ""})  # a label means one of the tool's own accounts
        admitted = self._admit(replace(self.use, module=module, tool=tool, arguments=arguments, options=options))
        account_of(admitted)
        return admitted.run(seconds).json, admitted.tool.shows

    def sibling(self, tool: str) -> Tool:
        """Return a tool of the same module."""
        return self.permissions.catalogue.module(self.use.module).tools[tool]

    def read_target(self, tool: str, arguments: Mapping[str, Any]) -> Any:
        """Return the JSON of a reading tool of the same module, with the account that writes."""
        return self._admit(replace(self.use, tool=tool, arguments=arguments)).run(MAX_TARGET_SECONDS).json

    def _admit(self, use: ToolUse) -> AdmittedUse:
        admitted = admit(self.permissions, use, CONFIRMED)  # nobody can answer a question about a part of a tool
        if not admitted.tool.reads:
            raise TypeError(f"{use.module}.{use.tool} does not only read")
        return admitted


def admit(permissions: Permissions, use: ToolUse, consent: Agreement = NOT_ASKED) -> AdmittedUse:
    """Return a use that may run; the error says why it may not, and nothing has happened then."""
    admitted = permit(permissions, use)
    with refusals_audited(permissions.caller, [use]):
        verdict = _judge(admitted, consent)
        if admitted.tool.asks or (verdict and verdict.level != "permit"):
            return _confirm(admitted, consent, verdict)
    return admitted


def permit(permissions: Permissions, use: ToolUse) -> AdmittedUse:
    """Return a use that the caller's roles permit, before any confirmation; DayLimitReached where too much is spent."""
    with refusals_audited(permissions.caller, [use]):
        tool = permissions.tool(use.module, use.tool)
        # The params of a step were read when its batch was planned; null is a value where a reference gives it.
        read = use if use.batch else replace(use, arguments=tolerant(tool.input_schema, use.arguments))
        admitted = AdmittedUse(permissions, permissions.catalogue.module(use.module), tool, read)
    # Steps of batches were reserved when their batch started.
    spending.check(permissions.caller.organization, "bytes", *(() if use.batch else ("calls",)))
    return admitted


def weigh(
    permissions: Permissions, use: ToolUse, consent: Agreement = NOT_ASKED
) -> "tuple[AdmittedUse, Verdict | None]":
    """Return a use that roles and policies permit, and the verdict of these; nobody is asked to confirm it."""
    admitted = permit(permissions, use)
    with refusals_audited(permissions.caller, [use]):
        return admitted, _judge(admitted, consent)


def account_of(admitted: AdmittedUse) -> Account:
    """Return the account that will act; AccountError if there is none, before anybody is asked.

    ScopeMissing if it lacks a scope that the tool needs.
    """
    caller, tool = admitted.caller, admitted.tool
    with account_links(caller):
        account = acting_account(acting_caller(caller, tool), admitted.module, tool)
        account.require_scope(tool.name)
        return account


def read_upstream(
    permissions: Permissions, module: str, uri: str, request: str, seconds: float
) -> "ReadResourceResult":
    """Return a resource of the upstream server behind a category, unchanged; FileNotFound if it does not list it."""

    def find(entry: ModuleEntry) -> Material:
        listed = next((one for one in entry.resources.values() if one.matches(uri)), None)
        if listed is None:
            raise errors.FileNotFound(path=uri)
        return listed

    with _upstream_use(permissions, module, "resources/read", request, find) as (caller, upstream):
        return upstream.read(caller, uri, deadline=time.monotonic() + seconds)


def get_upstream_prompt(
    permissions: Permissions, module: str, prompt: str, arguments: Mapping[str, str], request: str, seconds: float
) -> "GetPromptResult":
    """Return a prompt of the upstream server behind a category."""

    def find(entry: ModuleEntry) -> Material:
        if prompt not in entry.prompts:
            raise errors.InvalidRequest(field="name", problem=f'there is no prompt "{prompt}"')
        return entry.prompts[prompt]

    with _upstream_use(permissions, module, "prompts/get", request, find) as (caller, upstream):
        return upstream.get_prompt(caller, prompt, arguments, deadline=time.monotonic() + seconds)


def require(permissions: Permissions, module: str, material: Material, request: str) -> None:
    """Raise an error, with an audit row, if a caller may not use a resource or a prompt."""
    with refusals_audited(permissions.caller, [ToolUse(module, material.listed_in(module).name, {}, request)]):
        permissions.require(module, material)
        own = permissions.catalogue.module(module)
        for name in material.tools if permissions.caller.policies else ():
            # Nothing runs yet, so only what no argument could change is refused.
            if error := refusal_of_all(permissions, own, own.tools[name]):
                raise error


@contextmanager
def problems_audited(caller: Caller, request: str) -> Iterator[None]:
    """Write a row for each tool that a caller may not use, of the problems of a batch that is checked here."""
    try:
        yield
    except McpistError as error:
        problems = [one for one in (error, *error.details.get("problems", ())) if "name" in one.details]
        refusals = {str(one.details["name"]): one for one in problems if isinstance(one, errors.AdministratorError)}
        for name, refused in refusals.items():
            module, _, tool = name.rpartition(".")
            _record_refusal(caller, module, tool, refused, request)
        raise


def _judge(admitted: AdmittedUse, consent: Agreement) -> "Verdict | None":
    """Return the verdict of the policies, None where the organization has none; PolicyRefused if they refuse."""
    use, tool, permissions = admitted.use, admitted.tool, admitted.permissions
    if permissions.caller.policies is None:
        return None
    _check_arguments(admitted)
    account, place = use.options.account, use.place
    judged = facts_of(permissions, admitted.module, tool, use.arguments, account=account, place=place)
    (verdict,) = judge(permissions, [judged])
    if error := refusal(verdict, judged.full_name):
        raise error
    if consent.is_step and POLICY_LEVELS.index(verdict.level) > POLICY_LEVELS.index(consent.level):
        raise errors.PolicyUnasked(name=judged.full_name, policy=verdict.rule, reason=reason_of(verdict))
    return verdict


def _check_arguments(admitted: AdmittedUse) -> None:
    tool, arguments = admitted.tool, admitted.use.arguments
    unresolved = reference_names(tool.input_schema, arguments)
    with correcting(tool, arguments, unresolved):
        tool.check(arguments, unresolved)


def _confirm(admitted: AdmittedUse, consent: Agreement, verdict: "Verdict | None") -> AdmittedUse:
    """Have a person agree to a destructive use, once; the account is found first, so that the question names it.

    The answer is about that account: a yes to one is none to another that has become the default meanwhile.
    """
    use, permissions = admitted.use, admitted.permissions
    _check_arguments(admitted)
    subject = use.subject if consent.is_step else [*use.subject, account_of(admitted).label]

    def describe() -> list[DestructiveUse]:
        targets, account = order_targets(admitted.tool, use.arguments), account_of(admitted).name
        changed = () if consent.is_step else (changed_fields(admitted),)
        bare = DestructiveUse(use.module, use.tool, targets, account=account or None, differences=changed)
        return [described(bare, admitted.tool, verdict)]

    consent.require_seen(use.module, use.tool, use.arguments)
    mode = None if consent.is_step else approval_mode(permissions, [admitted.tool], [verdict])
    if mode:
        request, uses = use.as_request(), describe()
        approval = approvals.require_approval(
            permissions, mode, subject, request, uses, lambda: uses, named=consent.question
        )
        if approval.state == "used":
            raise errors.StaleConfirmation(field="confirmation")
        return replace(admitted, approval=approval)
    # A call destroys again each time it runs; a batch instead finds by the answer's id that it has started.
    if require_confirmation(admitted.caller, consent, subject, describe).used:
        raise errors.StaleConfirmation(field="confirmation")
    return admitted


def changed_fields(admitted: AdmittedUse) -> dict[str, dict[str, Any]]:
    """Return the fields that a use would change of its target, or the target; empty where it cannot be read."""
    # Only a question needs it.
    from mcpist.running.undoing import SHAPE_ERRORS, difference, read_before, target_now

    tool, others = admitted.tool, OtherReadingTools(admitted.permissions, admitted.use)
    if tool.undo is None or tool.undo.creates:  # all that it writes is among its arguments
        return {}
    try:
        change = read_before(tool, tool.validate(admitted.use.arguments), others)
        now = target_now(tool, change, others)
        return difference(tool, change) or ({"target": {"now": now, "then": None}} if now else {})
    except (McpistError, *SHAPE_ERRORS):
        return {}


@contextmanager
def _upstream_use(
    permissions: Permissions, module: str, method: str, request: str, find: Callable[[ModuleEntry], Material]
) -> Iterator[tuple[Caller, UpstreamClient]]:
    """Yield the caller in the roles that permit what `find` returns, and the client of its server."""
    caller = permissions.caller
    with refusals_audited(caller, [ToolUse(module, method, {}, request)]):
        entry = permissions.module(module)
        material = find(entry)
        permissions.require(entry.name, material)
        judge_material(permissions, entry.name, method)
    upstream = permissions.catalogue.module(entry.name).upstream
    if upstream is None:
        raise errors.ModuleNotFound(module=module, known="")
    caller = acting_caller(caller, material.listed_in(entry.name))
    spending.check(caller.organization, "bytes", "calls")
    spending.add(caller.organization, "calls")
    with audited(caller, entry.name, method, request=request):
        yield caller, upstream


@contextmanager
def refusals_audited(caller: Caller, uses: Iterable[ToolUse]) -> Iterator[None]:
    """Write a row for each tool whose use is refused in this context."""
    try:
        yield
    except REFUSALS as error:
        if not isinstance(error, errors.ConfirmationPending):  # a question is no refusal yet
            for use in {(use.module, use.tool): use for use in uses}.values():
                _record_refusal(caller, use.module, use.tool, error, use.request, use.batch)
        raise


def _record_refusal(caller: Caller, module: str, tool: str, error: McpistError, request: str, batch: str = "") -> None:
    # A caller may send any name, of any length.
    module, tool = (name[:MAX_AUDITED_NAME_CHARACTERS] for name in (module, tool))
    with audit.of_use():
        audit.record_use(caller, module, tool, outcome=error.code, request=request, batch=batch)


@contextmanager
def answering(tool: Tool) -> Iterator[None]:
    """Add to an error that repeating the request could change something twice, unless the tool only reads."""
    try:
        yield
    except McpistError as error:
        raise error if tool.reads else error.with_details(may_have_happened=True) from None
