"""Connecting: a call that lacks an account asks its person to connect one, and runs once it stands.

Items, under `pk` ORGANIZATION#STATE in the ledger:
    connection    a question that was asked: about which call, whom, why, and which grant stood then

The state that the client brings back lets nothing run that would not run without it: by it the endpoint knows what to
wait for, and that this very call was asked about.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import ElicitRequest, ElicitRequestURLParams, InputRequiredResult

from mcp_endpoint import questions
from mcp_endpoint.exchange import Exchange
from mcpist.batch.execution.start import new_id
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import table
from mcpist.caller import Caller
from mcpist.errors import AccountError, Locale, McpistError, StaleConfirmation, from_message, to_message
from mcpist.running import broker

KEY = "connect"
# What is left for the call itself once the account stands.
CALL_SECONDS = 8.0
FIRST_POLL_SECONDS = 0.3
SLOWEST_POLL_SECONDS = 2.0
POLL_GROWTH = 1.3


@dataclass(frozen=True, slots=True)
class Invitation:
    """What the client shall ask its person to open, in place of an answer."""

    state: str
    says: str
    url: str

    def as_result(self) -> InputRequiredResult:
        """The question in the protocol's words: an address to open."""
        asked = ElicitRequest(params=ElicitRequestURLParams(message=self.says, url=self.url))
        return InputRequiredResult(input_requests={KEY: asked}, request_state=self.state)


@dataclass(frozen=True, slots=True)
class _Question:
    """What was asked before: why, and which grant (owner and version) stood then."""

    error: McpistError
    stood: list[Any]


def connected[Result](exchange: Exchange, asked: list[Any], run: Callable[[], Result]) -> Result | Invitation:
    """What a call brings; in its place the question, where it lacks an account and its person can be asked.

    A person who agrees to connect one is waited for as long as the exchange allows; for one who does not, the error
    stands. `asked` are the words of the call.
    """
    client = exchange.client
    if not client.urls:
        return run()
    digest = questions.digest_of(exchange.caller, asked)
    if client.state:
        question = _recall(exchange.caller, client.state, digest)
        reply = client.replies.get(KEY)
        if reply and reply.action != "accept":
            raise question.error
        if reply:
            _wait(exchange, question)
    try:
        return run()
    except AccountError as error:
        return _ask(exchange.caller, error, digest, client.state)


def as_error(error: AccountError, locale: Locale) -> UrlElicitationRequiredError:
    """The error of 2025-11-25; its message says where to go, too, for clients that open no address by themselves."""
    message, hint = error.text(locale)
    asked = ElicitRequestURLParams(message=message, url=error.details["url"], elicitation_id=new_id())
    return UrlElicitationRequiredError([asked], f"{message} {hint}")


def _ask(caller: Caller, error: AccountError, digest: str, state: str) -> Invitation:
    """Ask, or ask again under the same state: the first question says which grant a new one is told from."""
    state, says = state or new_id(), error.text(caller.locale).message
    table().update(
        ledger.partition(caller.organization, state),
        "connection",
        "SET #call = :call, #error = :error, #expires_at = :expires, #stood = if_not_exists(#stood, :stood)",
        values={
            ":call": digest,
            ":error": to_message(error),
            ":expires": int(time.time()) + questions.ANSWER_SECONDS,
            ":stood": _acting(caller, error.details["service"])[0],
        },
    )
    return Invitation(state, says, error.details["url"])


def _recall(caller: Caller, state: str, digest: str) -> _Question:
    """The question that a state stands for; StaleConfirmation where this call was not asked about, or long ago."""
    item = questions.find(caller, "connection", state)
    if item is None or item["call"] != digest or item["expires_at"] <= time.time():
        raise StaleConfirmation(field="requestState")
    return _Question(from_message(item["error"]), item["stood"])


def _wait(exchange: Exchange, question: _Question) -> None:
    """Return when another grant acts than stood before, and works; or when only the time for the call is left."""
    service, stood = question.error.details["service"], question.stood
    until = time.monotonic() + exchange.remaining - CALL_SECONDS
    pause = FIRST_POLL_SECONDS
    while True:
        acting, usable = _acting(exchange.caller, service)
        if usable and acting != stood:
            break
        if time.monotonic() + pause >= until:
            return
        time.sleep(pause)
        pause = min(pause * POLL_GROWTH, SLOWEST_POLL_SECONDS)
    if stood:  # what is remembered of it, here and in the broker, is over
        broker.resolve(exchange.caller, service, refused=stood[1])


def _acting(caller: Caller, service: str) -> tuple[list[Any], bool]:
    """The owner and version of the grant that acts, and whether it works; nothing where the broker cannot say it."""
    try:
        rows = broker.ask(caller, "status", services=[service])["grants"]
    except McpistError:
        return [], False
    row = next((row for row in rows if row["acts"]), None)
    return ([row["owner"], row["version"]], bool(row["usable"])) if row else ([], False)
