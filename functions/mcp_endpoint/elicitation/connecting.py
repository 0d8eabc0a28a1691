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

from mcp_endpoint.elicitation import questions
from mcp_endpoint.exchange import Exchange
from mcpist.batch.execution.start import new_batch_id
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import table
from mcpist.caller import Caller
from mcpist.errors import AccountError, Locale, McpistError, StaleConfirmation, from_message, to_message
from mcpist.polling import Polling
from mcpist.running import broker

CONNECT_INPUT = "connect"
# What is left for the call itself once the account stands.
CALL_RESERVE_SECONDS = 8.0
ACCOUNT_POLLING = Polling(initial_seconds=0.3, max_seconds=2.0)


@dataclass(frozen=True, slots=True)
class UrlElicitation:
    """What the client shall ask its person to open, in place of an answer."""

    state: str
    message: str
    url: str

    def as_result(self) -> InputRequiredResult:
        """The question in the protocol's words: an address to open."""
        elicitation = ElicitRequest(params=ElicitRequestURLParams(message=self.message, url=self.url))
        return InputRequiredResult(input_requests={CONNECT_INPUT: elicitation}, request_state=self.state)


@dataclass(frozen=True, slots=True)
class _PendingElicitation:
    """What was asked before: why, and which grant (owner and version) stood then."""

    error: McpistError
    previous_grant: list[Any]


def run_or_elicit[Result](
    exchange: Exchange, subject: list[Any], run_call: Callable[[], Result]
) -> Result | UrlElicitation:
    """What a call brings; in its place the question, where it lacks an account and its person can be asked.

    A person who agrees to connect one is waited for as long as the exchange allows; for one who does not, the error
    stands. `subject` is the words of the call.
    """
    client = exchange.client
    if not client.supports_urls:
        return run_call()
    digest = questions.digest_of(exchange.caller, subject)
    if client.request_state:
        pending = _load_pending(exchange.caller, client.request_state, digest)
        reply = client.input_responses.get(CONNECT_INPUT)
        if reply and reply.action != "accept":
            raise pending.error
        if reply:
            _wait(exchange, pending)
    try:
        return run_call()
    except AccountError as error:
        return _elicit(exchange.caller, error, digest, client.request_state)


def to_protocol_error(error: AccountError, locale: Locale) -> UrlElicitationRequiredError:
    """The error of 2025-11-25; its message says where to go, too, for clients that open no address by themselves."""
    message, hint = error.text(locale)
    elicitation = ElicitRequestURLParams(message=message, url=error.details["url"], elicitation_id=new_batch_id())
    return UrlElicitationRequiredError([elicitation], f"{message} {hint}")


def _elicit(caller: Caller, error: AccountError, digest: str, state: str) -> UrlElicitation:
    """Ask, or ask again under the same state: the first question says which grant a new one is told from."""
    state, message = state or new_batch_id(), error.text(caller.locale).message
    table().update(
        ledger.partition_key(caller.organization, state),
        "connection",
        "SET #call = :call, #error = :error, #expires_at = :expires, #stood = if_not_exists(#stood, :stood)",
        values={
            ":call": digest,
            ":error": to_message(error),
            ":expires": int(time.time()) + questions.MAX_REPLY_SECONDS,
            ":stood": _acting(caller, error.details["service"])[0],
        },
    )
    return UrlElicitation(state, message, error.details["url"])


def _load_pending(caller: Caller, state: str, digest: str) -> _PendingElicitation:
    """The question that a state stands for; StaleConfirmation where this call was not asked about, or long ago."""
    item = questions.find(caller, "connection", state)
    if item is None or item["call"] != digest or item["expires_at"] <= time.time():
        raise StaleConfirmation(field="requestState")
    return _PendingElicitation(from_message(item["error"]), item["stood"])


def _wait(exchange: Exchange, pending: _PendingElicitation) -> None:
    """Wait for a usable grant that is not the previous one, as long as there remains enough time for the call."""
    service, previous_grant = pending.error.details["service"], pending.previous_grant

    def is_connected(state: tuple[list[Any], bool]) -> bool:
        acting, usable = state
        return usable and acting != previous_grant

    def read() -> tuple[list[Any], bool]:
        return _acting(exchange.caller, service)

    state = ACCOUNT_POLLING.wait(read(), is_connected, read, exchange.remaining - CALL_RESERVE_SECONDS)
    if is_connected(state) and previous_grant:  # drop the previous one from the caches, here and in the broker
        broker.resolve(exchange.caller, service, refused=previous_grant[1])


def _acting(caller: Caller, service: str) -> tuple[list[Any], bool]:
    """The owner and version of the grant that acts, and whether it works; nothing where the broker cannot say it."""
    try:
        rows = broker.request(caller, "status", services=[service])["grants"]
    except McpistError:
        return [], False
    row = next((row for row in rows if row["acts"]), None)
    return ([row["owner"], row["version"]], bool(row["usable"])) if row else ([], False)
