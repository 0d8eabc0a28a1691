"""Confirmation: before a batch that destroys something starts, its user agrees to it once."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from mcp_endpoint.elicitation import questions
from mcp_endpoint.exchange import Exchange
from mcpist.batch.execution.plan import Plan
from mcpist.batch.language.steps import Step
from mcpist.caller import Caller
from mcpist.errors import ConfirmationDeclined, ConfirmationRequired, Locale, McpistError
from mcpist.render.answer import compact_json
from mcpist.running import broker
from mcpist.tools.permissions import Permissions
from mcpist.tools.tool import Tool

CONFIRM_INPUT = "confirm"
MAX_TARGETS_CHARACTERS = 300

FORM_TEXTS: dict[Locale, tuple[str, str]] = {
    "en": ("This batch has destructive steps:\n{steps}\nRun it?", "Run all steps"),
    "ja": ("このバッチには破壊的なステップがあります:\n{steps}\n実行しますか?", "すべて実行する"),
}


@dataclass(frozen=True, slots=True)
class DestructiveStep:
    """A step that destroys something."""

    line: int
    id: str
    module: str
    tool: str
    targets: dict[str, Any]
    """Its params, with the references that are not resolved yet."""
    each: str
    account: str = ""
    """The name of the account that acts, if it is known."""

    def as_dict(self) -> dict[str, Any]:
        """Return the step for a plan or an error."""
        fields = {"line": self.line, "id": self.id, "tool": f"{self.module}.{self.tool}", "targets": self.targets}
        return fields | {name: value for name, value in (("each", self.each), ("account", self.account)) if value}

    def as_text(self) -> str:
        """`line 2, drop: tracker.delete_label {"name":"old"} (account: octocat)`."""
        targets = compact_json(self.targets)
        if len(targets) > MAX_TARGETS_CHARACTERS:
            targets = f"{targets[:MAX_TARGETS_CHARACTERS]}…"
        each = f" for each of {self.each}" if self.each else ""
        account = f" (account: {self.account})" if self.account else ""
        return f"line {self.line}, {self.id}: {self.module}.{self.tool} {targets}{each}{account}"


@dataclass(frozen=True, slots=True)
class FormElicitation:
    """A question that the client asks its user by a form."""

    state: str
    message: str
    label: str
    """The text of the box to tick."""

    def as_result(self) -> InputRequiredResult:
        """Return the question as the protocol's: a form with one box to tick."""
        properties = {CONFIRM_INPUT: {"type": "boolean", "title": self.label, "default": False}}
        schema = {"type": "object", "properties": properties, "required": [CONFIRM_INPUT]}
        request = ElicitRequest(params=ElicitRequestFormParams(message=self.message, requested_schema=schema))
        return InputRequiredResult(input_requests={CONFIRM_INPUT: request}, request_state=self.state)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The permission to run a batch."""

    batch: str = ""
    """The id that the batch gets; empty for any."""
    used: bool = False
    """Whether an earlier request has started the batch."""


def destructive_steps(steps: Iterable[tuple[Step, Tool]]) -> list[DestructiveStep]:
    """Return the steps that destroy something in the order of their lines, without accounts."""
    destructive = sorted((step for step, tool in steps if tool.effect == "destroys"), key=lambda step: step.line)
    return [DestructiveStep(step.line, step.id, step.module, step.tool, step.params, step.each) for step in destructive]


def with_accounts(destructive: Iterable[DestructiveStep], permissions: Permissions) -> list[DestructiveStep]:
    """Return the steps with the names of the accounts that act for the caller, where the broker knows them."""
    destructive = list(destructive)
    modules = {step.module for step in destructive}
    services = {name: service for name in modules if (service := permissions.catalogue.module(name).service)}
    if not services:
        return destructive
    try:
        rows = broker.request(permissions.caller, "status", services=sorted(set(services.values())))["grants"]
    except McpistError:
        return destructive
    acting = {row["service"]: row["account_name"] for row in rows if row["acts"]}
    return [replace(step, account=acting.get(services.get(step.module, ""), "")) for step in destructive]


def require_confirmation(
    exchange: Exchange,
    permissions: Permissions,
    plan: Plan,
    destructive: Sequence[DestructiveStep],
    *,
    confirmed: bool,
    about: str = "",
) -> Confirmation | FormElicitation:
    """Return the permission to run a plan, or the question that must be answered first.

    A client with forms is asked. `confirmed` is what the model says, and counts only for clients without forms;
    without it they get ConfirmationRequired. `about` identifies the request beyond its plan.
    """
    client = exchange.client
    if not destructive or (confirmed and not client.supports_forms):
        return Confirmation()
    if not client.supports_forms:
        raise _refusal(ConfirmationRequired, with_accounts(destructive, permissions))
    digest = questions.digest_of(exchange.caller, "batch", about, [asdict(step) for step in plan.steps])
    reply = client.input_responses.get(CONFIRM_INPUT)
    if not client.request_state or reply is None:
        return _elicit(exchange.caller, with_accounts(destructive, permissions), digest)
    confirmation = _accept(exchange.caller, client.request_state, digest, reply)
    if confirmation is None:
        raise _refusal(ConfirmationDeclined, with_accounts(destructive, permissions))
    return confirmation


def _elicit(caller: Caller, destructive: Sequence[DestructiveStep], digest: str) -> FormElicitation:
    message, label = FORM_TEXTS[caller.locale]
    steps = "\n".join(f"- {step.as_text()}" for step in destructive)
    return FormElicitation(questions.save(caller, digest), message.format(steps=steps), label)


def _accept(caller: Caller, state: str, digest: str, reply: ElicitResult) -> Confirmation | None:
    """Return the confirmation that an answer gives, None if it says no."""
    question = questions.load(caller, state, digest)
    if question.accepted_at is not None:
        return Confirmation(state, used=True)
    if reply.action != "accept" or (reply.content or {}).get(CONFIRM_INPUT) is not True:
        return None
    return Confirmation(state, used=not questions.accept(caller, state))


def _refusal(kind: type[ConfirmationRequired], destructive: Sequence[DestructiveStep]) -> ConfirmationRequired:
    steps = "; ".join(step.as_text() for step in destructive)
    return kind(steps=steps, destructive=[step.as_dict() for step in destructive])
