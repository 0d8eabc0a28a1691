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

from mcp_endpoint import questions
from mcp_endpoint.exchange import Exchange
from mcpist.aws.stores import refused
from mcpist.batch.execution.plan import Plan
from mcpist.batch.execution.start import new_id
from mcpist.batch.language.steps import Step
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import table
from mcpist.caller import Caller
from mcpist.errors import ConfirmationDeclined, ConfirmationRequired, Locale, McpistError, StaleConfirmation
from mcpist.render.answer import minified
from mcpist.running import broker
from mcpist.settings import settings
from mcpist.tools.permissions import Sieve
from mcpist.tools.tool import Tool

KEY = "confirm"
MOST_SHOWN_CHARACTERS = 300

WORDS: dict[Locale, tuple[str, str]] = {
    "en": ("This batch has steps that destroy:\n{steps}\nRun it?", "Run all of it"),
    "ja": ("このバッチには破壊的なステップがあります:\n{steps}\n実行しますか?", "すべて実行する"),
}


@dataclass(frozen=True, slots=True)
class Destruction:
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
        """`line 2, drop: github.delete_label {"name":"old"} (account: octocat)`."""
        targets = minified(self.targets)
        if len(targets) > MOST_SHOWN_CHARACTERS:
            targets = f"{targets[:MOST_SHOWN_CHARACTERS]}…"
        each = f" for each of {self.each}" if self.each else ""
        account = f" (account: {self.account})" if self.account else ""
        return f"line {self.line}, {self.id}: {self.module}.{self.tool} {targets}{each}{account}"


@dataclass(frozen=True, slots=True)
class Question:
    """What the client shall ask its user, in place of an answer."""

    state: str
    says: str
    label: str

    def as_result(self) -> InputRequiredResult:
        """The question in the protocol's words: a form with one box to tick."""
        properties = {KEY: {"type": "boolean", "title": self.label, "default": False}}
        schema = {"type": "object", "properties": properties, "required": [KEY]}
        asked = ElicitRequest(params=ElicitRequestFormParams(message=self.says, requested_schema=schema))
        return InputRequiredResult(input_requests={KEY: asked}, request_state=self.state)


@dataclass(frozen=True, slots=True)
class Agreement:
    """Leave to run a batch: under the id that was asked about, or under any; `used` where that has been done."""

    batch: str = ""
    used: bool = False


def destructions(steps: Iterable[tuple[Step, Tool]]) -> list[Destruction]:
    """Those of the steps that will run which destroy something, in the order of their lines; no account is named."""
    found = sorted((step for step, tool in steps if tool.effect == "destroys"), key=lambda step: step.line)
    return [Destruction(step.line, step.id, step.module, step.tool, step.params, step.each) for step in found]


def with_accounts(found: Iterable[Destruction], sieve: Sieve) -> list[Destruction]:
    """The same with the name of the account that acts for the caller in each, where the broker can say it."""
    found = list(found)
    modules = {one.module for one in found}
    services = {name: service for name in modules if (service := sieve.catalogue.module(name).service)}
    if not services:
        return found
    try:
        rows = broker.ask(sieve.caller, "status", services=sorted(set(services.values())))["grants"]
    except McpistError:
        return found
    acting = {row["service"]: row["account_name"] for row in rows if row["acts"]}
    return [replace(one, account=acting.get(services.get(one.module, ""), "")) for one in found]


def settle(
    exchange: Exchange, sieve: Sieve, plan: Plan, found: Sequence[Destruction], *, confirmed: bool, about: str = ""
) -> Agreement | Question:
    """Leave to run a plan, or the question that must be answered before.

    Who can be asked is asked: `confirmed` is the model's word for it, and counts only where the client has no forms;
    ConfirmationRequired tells those to give it. `about` is what was asked for besides the plan.
    """
    client = exchange.client
    if not found or (confirmed and not client.forms):
        return Agreement()
    if not client.forms:
        raise _refusal(ConfirmationRequired, with_accounts(found, sieve))
    digest = questions.digest_of(exchange.caller, about, [asdict(step) for step in plan.steps])
    reply = client.replies.get(KEY)
    if not client.state or reply is None:
        return _ask(exchange.caller, with_accounts(found, sieve), digest)
    agreement = _accept(exchange.caller, client.state, digest, reply)
    if agreement is None:
        raise _refusal(ConfirmationDeclined, with_accounts(found, sieve))
    return agreement


def _ask(caller: Caller, found: Sequence[Destruction], digest: str) -> Question:
    batch, now = new_id(), int(time.time())
    table().update(
        ledger.partition(caller.organization, batch),
        "confirmation",
        "SET #plan = :plan, #user = :user, #until = :until, #expires_at = :expires",
        values={
            ":plan": digest,
            ":user": caller.user,
            ":until": now + questions.ANSWER_SECONDS,
            ":expires": now + settings().keep_seconds,  # as long as an answer may be sent again
        },
    )
    says, label = WORDS[caller.locale]
    return Question(batch, says.format(steps="\n".join(f"- {one.as_text()}" for one in found)), label)


def _accept(caller: Caller, state: str, digest: str, reply: ElicitResult) -> Agreement | None:
    """The agreement of an answer, None where it says no; StaleConfirmation where it answers another question."""
    item = questions.find(caller, "confirmation", state)
    if item is None or (item["plan"], item["user"]) != (digest, caller.user):
        raise StaleConfirmation(field="requestState")
    if "accepted_at" in item:
        return Agreement(state, used=True)
    if item["until"] <= time.time():
        raise StaleConfirmation(field="requestState")
    if reply.action != "accept" or (reply.content or {}).get(KEY) is not True:
        return None
    return Agreement(state, used=not _use(caller, state))


def _use(caller: Caller, state: str) -> bool:
    """Use an answer up; whether it was this request that did."""
    try:
        table().update(
            ledger.partition(caller.organization, state),
            "confirmation",
            "SET #accepted_at = :now",
            values={":now": int(time.time())},
            condition="attribute_exists(#plan) AND attribute_not_exists(#accepted_at)",
        )
    except Exception as error:
        if refused(error):
            return False
        raise
    return True


def _refusal(kind: type[ConfirmationRequired], found: Sequence[Destruction]) -> ConfirmationRequired:
    steps = "; ".join(one.as_text() for one in found)
    return kind(steps=steps, destructive=[one.as_dict() for one in found])
