"""The broker's client: what it sends, what it remembers, and what it makes of a bad day.

The Lambda API stands on loopback and answers as it is told.
"""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mcpist.caller import Caller, ClientInfo, Proof, Role, Subject
from mcpist.errors import (
    ConnectionRequired,
    InternalError,
    McpistError,
    RateLimitExceeded,
    StoreUnavailable,
    UpstreamUnavailable,
)
from mcpist.memory import forget_all
from mcpist.running import broker
from tests.clock import Clock
from tests.core.loopback import listening

PROOF = "jwt.canary.of.the.client"
TOKEN = "ghu_token_canary"
CREDENTIAL: dict[str, Any] = {
    "token": TOKEN,
    "account_id": "1",
    "account_name": "octocat",
    "owner": "user#ada",
    "expires_at": None,
    "version": 3,
    "scopes": ["repo"],
    "keep_seconds": 60,
}
CALLER = Caller(
    organization="acme",
    user="ada",
    subject=Subject("https://login.example.com", "1"),
    system_role="user",
    roles=(Role("engineering"), Role("support")),
    proof=Proof("jwt", PROOF),
)


class Lambda:
    """Invoke, on loopback: notes each payload and answers with what `answers` holds next, or with its last."""

    def __init__(self) -> None:
        api = self
        self.payloads: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.connections: set[int] = set()
        self.answers: list[tuple[int, dict[str, str], bytes]] = []

        class Invoke(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                api.connections.add(self.client_address[1])
                api.paths.append(self.path)
                api.payloads.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                status, headers, body = api.answers.pop(0) if len(api.answers) > 1 else api.answers[0]
                self.send_response(status)
                for name, value in {
                    "x-amzn-RequestId": "request-7",
                    "Content-Length": str(len(body)),
                    **headers,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: Any) -> None:
                """Silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Invoke)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, payload: Any, *, status: int = 200, **headers: str) -> None:
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        self.answers = [(status, {name.replace("_", "-"): value for name, value in headers.items()}, body)]


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lambda]:
    api = Lambda()
    for name, value in {
        "AWS_ENDPOINT_URL_LAMBDA": api.url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "TOKEN_BROKER": "arn:aws:lambda:us-east-1:123456789012:function:mcpist-TokenBroker:live",
    }.items():
        monkeypatch.setenv(name, value)
    forget_all()
    api.answer({"result": CREDENTIAL})
    with listening(api.server):
        yield api
    forget_all()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the cache of credentials."""
    clock = Clock()
    monkeypatch.setattr(broker.credential_cache, "clock", clock)
    return clock


def test_accounts_and_the_pins_of_batches_are_kept_apart_in_memory(api: Lambda) -> None:
    pins = ("github#user#uma",)
    callers = [replace(CALLER, account=account, pins=held) for account in ("", "work") for held in ((), pins)]
    for number, caller in enumerate(callers):
        api.answer({"result": CREDENTIAL | {"token": f"t{number}"}})
        broker.resolve(caller, "github")
    assert [broker.resolve(caller, "github").token for caller in callers] == ["t0", "t1", "t2", "t3"]
    named = [(message.get("account"), message.get("pins")) for message in api.payloads]
    assert named == [(None, None), (None, [*pins]), ("work", None), ("work", [*pins])]


def test_a_message_carries_the_proof_the_organization_and_the_roles(api: Lambda) -> None:
    assert broker.resolve(CALLER, "github") == broker.Credential(**CREDENTIAL | {"scopes": ("repo",)})
    assert api.payloads == [
        {
            "operation": "resolve",
            "proof": {"kind": "jwt", "value": PROOF},
            "organization": "acme",
            "roles": ["engineering", "support"],
            "service": "github",
        }
    ]
    assert "mcpist-TokenBroker%3Alive" in api.paths[0]


def test_a_message_names_the_program_that_the_person_uses(api: Lambda) -> None:
    broker.resolve(replace(CALLER, client=ClientInfo("code", "1.2", "c-1")), "github")
    assert api.payloads[0]["client"] == {"name": "code", "version": "1.2", "id": "c-1"}


def test_a_service_is_connected_by_the_grant_that_acts_and_works_and_by_no_other(api: Lambda) -> None:
    rows = [
        {"service": "github", "acts": True, "usable": True},
        {"service": "jira", "acts": True, "usable": False},
        {"service": "jira", "acts": False, "usable": True},
    ]
    api.answer({"result": {"grants": rows}})
    assert broker.connected(CALLER, ["github", "jira"]) == {"github"}
    assert broker.connected(CALLER, ["github", "jira"]) == {"github"}
    assert len(api.payloads) == 1


def test_a_warrant_asks_for_each_service_once(api: Lambda) -> None:
    api.answer({"result": {"warrant": "sealed", "expires_at": 9, "pins": ["github#user#uma"]}})
    assert broker.warrant(CALLER, ["notion", "github", "notion"], expires_at=9) == ("sealed", ("github#user#uma",))
    assert api.payloads[0]["services"] == ["github", "notion"]


def test_a_caller_without_proof_asks_nothing(api: Lambda) -> None:
    with pytest.raises(ValueError, match="without proof"):
        broker.resolve(Caller("acme", "ada", CALLER.subject, "user", ()), "github")
    assert api.payloads == []


# -- memory -------------------------------------------------------------------------------------------


def test_a_credential_is_remembered_for_its_caller_service_and_roles(api: Lambda) -> None:
    others = [
        replace(CALLER, organization="globex"),
        replace(CALLER, user="bob"),
        replace(CALLER, roles=CALLER.roles[:1]),
    ]
    for _ in range(2):
        broker.resolve(CALLER, "github")
        broker.resolve(CALLER, "notion")
        for other in others:
            broker.resolve(other, "github")
    assert len(api.payloads) == 5


def test_a_refused_version_is_named_to_the_broker_and_replaced(api: Lambda) -> None:
    broker.resolve(CALLER, "github")
    api.answer({"result": CREDENTIAL | {"token": "renewed", "version": 4}})
    assert broker.resolve(CALLER, "github", refused=3).token == "renewed"
    assert [payload.get("refused") for payload in api.payloads] == [None, 3]
    assert broker.resolve(CALLER, "github").token == "renewed"
    assert len(api.payloads) == 2


def test_a_version_refused_before_the_cached_one_causes_no_request(api: Lambda) -> None:
    broker.resolve(CALLER, "github")
    assert broker.resolve(CALLER, "github", refused=2).version == 3
    assert len(api.payloads) == 1


def test_a_forgotten_credential_is_resolved_again(api: Lambda) -> None:
    broker.resolve(CALLER, "github")
    broker.resolve(CALLER, "notion")
    api.answer({"result": {"grants": []}})
    broker.connected(CALLER, ["github"])
    broker.forget(CALLER, "github")
    assert [key[3] for key in broker.credential_cache] == ["notion"]
    assert not broker.status_cache


def test_a_credential_that_was_refused_is_forgotten_even_if_there_is_no_other(api: Lambda) -> None:
    broker.resolve(CALLER, "github")
    api.answer({"error": {"type": "ReconnectRequired", "details": {"service": "github", "url": "u"}}})
    for refused in (3, None):
        with pytest.raises(McpistError):
            broker.resolve(CALLER, "github", refused=refused)


def test_an_expired_credential_is_not_cached(api: Lambda, clock: Clock) -> None:
    api.answer({"result": CREDENTIAL | {"expires_at": int(clock.now)}})
    broker.resolve(CALLER, "github")
    broker.resolve(CALLER, "github")
    assert len(api.payloads) == 2


def test_a_credential_is_cached_for_a_minute(api: Lambda, clock: Clock) -> None:
    broker.resolve(CALLER, "github")
    clock.advance(broker.CREDENTIAL_CACHE_SECONDS - 5)
    broker.resolve(CALLER, "github")
    assert len(api.payloads) == 1
    clock.advance(5)
    broker.resolve(CALLER, "github")
    assert len(api.payloads) == 2


def test_the_broker_says_how_much_longer_a_credential_may_be_remembered(api: Lambda, clock: Clock) -> None:
    api.answer({"result": CREDENTIAL | {"keep_seconds": 20}})
    broker.resolve(CALLER, "github")
    clock.advance(15)
    broker.resolve(CALLER, "github")
    assert len(api.payloads) == 1
    clock.advance(5)
    broker.resolve(CALLER, "github")
    assert len(api.payloads) == 2


@pytest.mark.usefixtures("api")
def test_the_cache_of_credentials_is_bounded() -> None:
    for number in range(broker.MAX_CACHED_CREDENTIALS):
        broker.credential_cache.put(("acme", f"user{number}", (), "github", "", ()), broker.Credential(**CREDENTIAL))
    broker.resolve(CALLER, "github")
    assert len(broker.credential_cache) == broker.MAX_CACHED_CREDENTIALS


def test_what_a_newer_broker_adds_to_a_credential_is_ignored(api: Lambda) -> None:
    api.answer({"result": CREDENTIAL | {"of_a_newer_release": {"a": [1]}}})
    assert broker.resolve(CALLER, "github").token == CREDENTIAL["token"]


# -- a bad day ----------------------------------------------------------------------------------------


def test_the_broker_s_typed_error_is_raised_here(api: Lambda) -> None:
    api.answer({"error": {"type": "ConnectionRequired", "details": {"service": "github", "url": "https://u"}}})
    with pytest.raises(ConnectionRequired) as raised:
        broker.resolve(CALLER, "github")
    assert raised.value.details == {"service": "github", "url": "https://u"}


@pytest.mark.parametrize(
    "error",
    [
        None,
        7,
        "broken",
        [],
        {},
        {"type": "OfANewerRelease", "details": {}},
        {"type": ["x"], "details": {}},
        {"type": "ConnectionRequired"},
        {"type": "ConnectionRequired", "details": {}},
        {"type": "ConnectionRequired", "details": None},
        {"type": "ConnectionRequired", "details": ["service"]},
        {"type": "ConnectionRequired", "details": {"self": 1}},
        {"type": "McpistError", "details": {}},
    ],
)
def test_an_error_that_this_release_does_not_know_is_a_defect(api: Lambda, error: object) -> None:
    api.answer({"error": error})
    with pytest.raises(InternalError) as raised:
        broker.resolve(CALLER, "github")
    assert raised.value.details == {"request_id": "request-7"}


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{", b'"x"', b"{}", b'{"result": null}', b'{"result": {"token": "x"}}', b"\xff"]
)
def test_an_answer_that_cannot_be_read_may_be_tried_again(api: Lambda, body: bytes) -> None:
    api.answer(body)
    with pytest.raises(UpstreamUnavailable):
        broker.resolve(CALLER, "github")


def test_a_broker_that_failed_may_be_tried_again_and_its_words_are_not_repeated(api: Lambda) -> None:
    api.answer({"errorMessage": f"Task failed with {TOKEN}"}, X_Amz_Function_Error="Unhandled")
    with pytest.raises(UpstreamUnavailable) as raised:
        broker.resolve(CALLER, "github")
    assert raised.value.details["problem"] == "it failed in request request-7"


def test_an_answer_that_failed_gives_its_connection_back(api: Lambda) -> None:
    api.answer({"errorMessage": "x"}, X_Amz_Function_Error="Unhandled")
    for _ in range(3):
        with pytest.raises(UpstreamUnavailable):
            broker.resolve(CALLER, "github")
    assert len(api.connections) == 1


def test_throttling_says_when_to_come_back(api: Lambda) -> None:
    api.answer(
        {"Reason": "ReservedFunctionConcurrentInvocationLimitExceeded"},
        status=429,
        x_amzn_ErrorType="TooManyRequestsException",
    )
    with pytest.raises(RateLimitExceeded) as raised:
        broker.resolve(CALLER, "github")
    assert raised.value.retryable
    assert raised.value.details["retry_after"] == 1
    assert len(api.payloads) == broker.MAX_INVOKE_ATTEMPTS


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (500, "ServiceException", UpstreamUnavailable),
        (503, "ServiceUnavailable", StoreUnavailable),
        (403, "AccessDeniedException", UpstreamUnavailable),
        (404, "ResourceNotFoundException", UpstreamUnavailable),
    ],
)
def test_an_invoke_that_is_refused_is_a_typed_error(
    api: Lambda, status: int, kind: str, error: type[McpistError]
) -> None:
    api.answer({"Message": "no"}, status=status, x_amzn_ErrorType=kind)
    with pytest.raises(error) as raised:
        broker.resolve(CALLER, "github")
    assert raised.value.retryable


@pytest.mark.usefixtures("api")
def test_an_unreachable_lambda_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", "http://127.0.0.1:1")
    with pytest.raises(StoreUnavailable):
        broker.resolve(CALLER, "github")


def test_no_secret_is_in_a_repr_an_error_or_a_debug_log(api: Lambda, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    credential = broker.resolve(CALLER, "github")
    api.answer({"errorMessage": TOKEN}, X_Amz_Function_Error="Unhandled")
    with pytest.raises(UpstreamUnavailable) as failed:
        broker.resolve(CALLER, "github", refused=3)
    api.answer({"result": {"token": TOKEN}})
    with pytest.raises(UpstreamUnavailable) as unread:
        broker.resolve(CALLER, "github")
    shown = [
        repr(credential),
        repr(CALLER),
        *(f"{e.value!r} {e.value.as_dict()}" for e in (failed, unread)),
        caplog.text,
    ]
    shown += [repr(record.__dict__) for record in caplog.records]
    assert not [text for text in shown if TOKEN in text or PROOF in text]
