"""The questions to a client's person: to confirm what is destroyed by a form, to connect an account at an address.

A call without an account asks its person to connect one, waits for it, and then runs. The answer
permits nothing that would not be permitted without it: it says which call to wait with, and for what.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mcp.shared.exceptions import UrlElicitationRequiredError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, InputRequiredResult

from mcp_endpoint.exchange import McpClient, McpExchange
from mcpist.batch_id import new_batch_id
from mcpist.caller import Caller
from mcpist.errors import (
    AccountError,
    AgreementPending,
    ChangeConfirmationPending,
    ConfirmationPending,
    Locale,
    McpistError,
    from_message,
    to_message,
)
from mcpist.people import questions
from mcpist.polling import Polling
from mcpist.running import broker
from mcpist.running.accounts import acting_row
from mcpist.running.confirmation import Agreement

CONFIRM_INPUT = "confirm"
CONNECT_INPUT = "connect"
# The time that is left for the call once the account is connected.
CALL_RESERVE_SECONDS = 8.0
ACCOUNT_POLLING = Polling(initial_seconds=0.3, max_seconds=2.0)
QUESTIONS: Mapping[type[ConfirmationPending], Mapping[Locale, str]] = {
    ConfirmationPending: {
        "en": "This destroys something:\n{steps}\nRun it?",
        "ja": "破壊的な操作が含まれています:\n{steps}\n実行しますか?",
    },
    ChangeConfirmationPending: {
        "en": "Nobody has said what this does; it may change something:\n{steps}\nRun it?",
        "ja": "影響が宣言されていない操作です。何かを変更する可能性があります:\n{steps}\n実行しますか?",
    },
    AgreementPending: {
        "en": "This runs only if you agree:\n{steps}\nRun it?",
        "ja": "実行には同意が必要です:\n{steps}\n実行しますか?",
    },
}
LABELS: Mapping[Locale, str] = {"en": "Run all of it", "ja": "すべて実行する"}


def form_of(error: ConfirmationPending, locale: Locale) -> InputRequiredResult:
    """Return the question that an error wants answered: a form with one box to tick."""
    steps = "\n".join(f"- {use}" for use in error.uses)
    message = QUESTIONS[type(error)][locale].format(steps=steps)
    properties = {CONFIRM_INPUT: {"type": "boolean", "title": LABELS[locale], "default": False}}
    schema = {"type": "object", "properties": properties, "required": [CONFIRM_INPUT]}
    form = ElicitRequestFormParams(message=message, requested_schema=schema)
    state = error.details["confirmation"]
    return InputRequiredResult(input_requests={CONFIRM_INPUT: ElicitRequest(params=form)}, request_state=state)


def consent_of(client: McpClient, *, claimed: bool) -> Agreement:
    """Return a person's agreement as the request has it; `claimed` is the model's own claim."""
    reply = client.input_responses.get(CONFIRM_INPUT)
    agreed = None if reply is None else reply.action == "accept" and (reply.content or {}).get(CONFIRM_INPUT) is True
    return Agreement(claimed, client.supports_forms, client.request_state, agreed)


def run_or_elicit[Result](
    exchange: McpExchange, subject: Sequence[Any], run_call: Callable[[], Result]
) -> Result | InputRequiredResult:
    """Return the result of a call, or a question if it lacks an account and the client can ask its person.

    The call waits for a person who agrees to connect an account, as long as the exchange allows; for one who declines
    the error is raised. `subject` identifies the call.
    """
    client, context = exchange.client, None
    if not client.supports_urls:
        return run_call()
    digest = questions.digest_of(exchange.caller, *subject)
    if client.request_state and CONFIRM_INPUT not in client.input_responses:
        question = questions.load(exchange.caller, client.request_state, digest)
        context = question.context if question.kind == "connect" else None
    if context:
        reply = client.input_responses.get(CONNECT_INPUT)
        if reply and reply.action != "accept":
            raise from_message(context["error"])
        if reply:
            _wait(exchange, replace(exchange.caller, account=context["account"]), context)
    try:
        return run_call()
    except AccountError as error:
        if error.details.get("may_have_happened"):  # running the call again could write twice
            raise
        return _elicit(exchange, error, digest, context)


def to_protocol_error(error: AccountError, locale: Locale) -> UrlElicitationRequiredError:
    """Return the error of 2025-11-25; its message has the address too, for clients that do not open it themselves."""
    message, hint = error.text(locale)
    params = ElicitRequestURLParams(message=message, url=error.details["url"], elicitation_id=new_batch_id())
    return UrlElicitationRequiredError([params], f"{message} {hint}")


def _elicit(
    exchange: McpExchange, error: AccountError, digest: str, asked: dict[str, Any] | None
) -> InputRequiredResult:
    """Ask for an account by an address to open.

    A question that is asked again keeps its state: then the grant of the first one is still the one to replace.
    """
    service, label = error.details["service"], error.details.get("account", "")
    caller = replace(exchange.caller, account=label)
    grant = asked["grant"] if asked else _acting_grant(caller, service)[0]
    context = {"error": to_message(error), "service": service, "account": label, "grant": grant}
    state = exchange.client.request_state if asked else ""
    state = questions.save(caller, digest, context, state=state, kind="connect")
    page = ElicitRequestURLParams(message=error.text(caller.locale).message, url=error.details["url"])
    return InputRequiredResult(input_requests={CONNECT_INPUT: ElicitRequest(params=page)}, request_state=state)


def _wait(exchange: McpExchange, caller: Caller, context: Mapping[str, Any]) -> None:
    """Wait until another grant than the previous one acts and works, or only the time for the call is left."""
    service, previous = context["service"], context["grant"]

    def is_connected(state: tuple[list[Any], bool]) -> bool:
        acting, usable = state
        return usable and acting != previous

    def read() -> tuple[list[Any], bool]:
        return _acting_grant(caller, service)

    state = ACCOUNT_POLLING.wait(read(), is_connected, read, exchange.remaining - CALL_RESERVE_SECONDS)
    if is_connected(state) and previous:  # caches, here and in the broker, may still hold its token
        broker.resolve(caller, service, refused=previous[1])


def _acting_grant(caller: Caller, service: str) -> tuple[list[Any], bool]:
    """Return the owner, version and label of the grant that acts, and whether it works; empty if that is not known."""
    try:
        rows = broker.accounts(caller, [service])
    except McpistError:
        return [], False
    row = acting_row(caller, rows, caller.account)
    return ([row["owner"], row["version"], row["label"]], bool(row["usable"])) if row else ([], False)
