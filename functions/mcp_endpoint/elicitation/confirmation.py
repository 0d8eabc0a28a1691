"""Confirmation: a batch that destroys something is agreed to once, before any of it runs.

Items, under `pk` ORGANIZATION#BATCH in the ledger, beside the batch that they stand before:
    confirmation    a question that was asked: about which plan, whom, until when it may be answered, and once it was
                    accepted when

The state that the client brings back is the id that the batch will have, and nothing else: what it stands for is in the
table. So no key is to be shared between sandboxes, and one answer starts one batch, however often it is sent.
"""

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult

from mcp_endpoint.elicitation import questions
from mcp_endpoint.exchange import Exchange
from mcpist.aws.clients import ConditionFailed
from mcpist.batch.execution.plan import Plan
from mcpist.batch.execution.start import new_batch_id
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import table
from mcpist.caller import Caller
from mcpist.errors import ConfirmationDeclined, ConfirmationRequired, Locale, McpistError, StaleConfirmation
from mcpist.render.answer import compact_json
from mcpist.running import broker
from mcpist.settings import settings
from mcpist.tools.permissions import Permissions
from mcpist.tools.tool import Tool

CONFIRM_INPUT = "confirm"
MAX_TARGETS_CHARACTERS = 300

FORM_TEXTS: dict[Locale, tuple[str, str]] = {
    "en": ("This batch has steps that destroy:\n{steps}\nRun it?", "Run all of it"),
    "ja": ("このバッチには破壊的なステップがあります:\n{steps}\n実行しますか?", "すべて実行する"),
}


@dataclass(frozen=True, slots=True)
class DestructiveStep:
    """A step that destroys: its targets are its params as far as they are known, `account` is whose account acts."""

    line: int
    id: str
    module: str
    tool: str
    targets: dict[str, Any]
    each: str
    account: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The step in a plan and in an error."""
        shown = {"line": self.line, "id": self.id, "tool": f"{self.module}.{self.tool}", "targets": self.targets}
        return shown | {name: value for name, value in (("each", self.each), ("account", self.account)) if value}

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
    """What the client shall ask its user, in place of an answer."""

    state: str
    message: str
    label: str

    def as_result(self) -> InputRequiredResult:
        """The question in the protocol's words: a form with one box to tick."""
        properties = {CONFIRM_INPUT: {"type": "boolean", "title": self.label, "default": False}}
        schema = {"type": "object", "properties": properties, "required": [CONFIRM_INPUT]}
        elicitation = ElicitRequest(params=ElicitRequestFormParams(message=self.message, requested_schema=schema))
        return InputRequiredResult(input_requests={CONFIRM_INPUT: elicitation}, request_state=self.state)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Leave to run a batch: under the id that was asked about, or under any; `used` where that has been done."""

    batch: str = ""
    used: bool = False


def destructive_steps(steps: Iterable[tuple[Step, Tool]]) -> list[DestructiveStep]:
    """Those of the steps that will run which destroy something, in the order of their lines; no account is named."""
    destructive = sorted((step for step, tool in steps if tool.effect == "destroys"), key=lambda step: step.line)
    return [DestructiveStep(step.line, step.id, step.module, step.tool, step.params, step.each) for step in destructive]


def with_accounts(destructive: Iterable[DestructiveStep], permissions: Permissions) -> list[DestructiveStep]:
    """The same with the name of the account that acts for the caller in each, where the broker can say it."""
    destructive = list(destructive)
    modules = {one.module for one in destructive}
    services = {name: service for name in modules if (service := permissions.catalogue.module(name).service)}
    if not services:
        return destructive
    try:
        rows = broker.request(permissions.caller, "status", services=sorted(set(services.values())))["grants"]
    except McpistError:
        return destructive
    acting = {row["service"]: row["account_name"] for row in rows if row["acts"]}
    return [replace(one, account=acting.get(services.get(one.module, ""), "")) for one in destructive]


def require_confirmation(
    exchange: Exchange,
    permissions: Permissions,
    plan: Plan,
    destructive: Sequence[DestructiveStep],
    *,
    confirmed: bool,
    about: str = "",
) -> Confirmation | FormElicitation:
    """Leave to run a plan, or the question that must be answered before.

    Who can be asked is asked: `confirmed` is the model's word for it, and counts only where the client has no forms;
    ConfirmationRequired tells those to give it. `about` is what was asked for besides the plan.
    """
    client = exchange.client
    if not destructive or (confirmed and not client.supports_forms):
        return Confirmation()
    if not client.supports_forms:
        raise _refusal(ConfirmationRequired, with_accounts(destructive, permissions))
    digest = questions.digest_of(exchange.caller, about, [asdict(step) for step in plan.steps])
    reply = client.input_responses.get(CONFIRM_INPUT)
    if not client.request_state or reply is None:
        return _elicit(exchange.caller, with_accounts(destructive, permissions), digest)
    confirmation = _accept(exchange.caller, client.request_state, digest, reply)
    if confirmation is None:
        raise _refusal(ConfirmationDeclined, with_accounts(destructive, permissions))
    return confirmation


def _elicit(caller: Caller, destructive: Sequence[DestructiveStep], digest: str) -> FormElicitation:
    batch, now = new_batch_id(), int(time.time())
    table().update(
        ledger.partition_key(caller.organization, batch),
        "confirmation",
        "SET #plan = :plan, #user = :user, #until = :until, #expires_at = :expires",
        values={
            ":plan": digest,
            ":user": caller.user,
            ":until": now + questions.MAX_REPLY_SECONDS,
            ":expires": now + settings().keep_seconds,  # as long as an answer may be sent again
        },
    )
    message, label = FORM_TEXTS[caller.locale]
    return FormElicitation(batch, message.format(steps="\n".join(f"- {one.as_text()}" for one in destructive)), label)


def _accept(caller: Caller, state: str, digest: str, reply: ElicitResult) -> Confirmation | None:
    """The confirmation of an answer, None where it says no; StaleConfirmation where it answers another question."""
    item = questions.find(caller, "confirmation", state)
    if item is None or (item["plan"], item["user"]) != (digest, caller.user):
        raise StaleConfirmation(field="requestState")
    if "accepted_at" in item:
        return Confirmation(state, used=True)
    if item["until"] <= time.time():
        raise StaleConfirmation(field="requestState")
    if reply.action != "accept" or (reply.content or {}).get(CONFIRM_INPUT) is not True:
        return None
    return Confirmation(state, used=not _consume(caller, state))


def _consume(caller: Caller, state: str) -> bool:
    """Use an answer up; whether it was this request that did."""
    try:
        table().update(
            ledger.partition_key(caller.organization, state),
            "confirmation",
            "SET #accepted_at = :now",
            values={":now": int(time.time())},
            condition="attribute_exists(#plan) AND attribute_not_exists(#accepted_at)",
        )
    except ConditionFailed:
        return False
    return True


def _refusal(kind: type[ConfirmationRequired], destructive: Sequence[DestructiveStep]) -> ConfirmationRequired:
    steps = "; ".join(one.as_text() for one in destructive)
    return kind(steps=steps, destructive=[one.as_dict() for one in destructive])
