"""A function's credentials: where they come from, and until when they are used."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from infra.local.server import LoopbackRequest, LoopbackResponse, LoopbackServer, listen
from mcpist.aws.credentials import CredentialsUnavailable, FunctionCredentials


class Runtime:
    """Serves credentials as Lambda does after a restore."""

    def __init__(self) -> None:
        self.lasts_seconds = 3600.0
        self.status = 200
        self.served = 0

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        if request.headers["Authorization"] != "the sandbox's token" or request.path != "/credentials":
            return LoopbackResponse(403, (), b"{}")
        self.served += 1
        ends = datetime.now(UTC) + timedelta(seconds=self.lasts_seconds)
        keys = {"AccessKeyId": f"ak{self.served}", "SecretAccessKey": "very secret", "Token": "token"}
        return LoopbackResponse(
            self.status, (), json.dumps({**keys, "Expiration": f"{ends:%Y-%m-%dT%H:%M:%SZ}"}).encode()
        )


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    runtime, listener = Runtime(), listen("127.0.0.1", 0)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "the sandbox's token")
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/credentials"
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", address)
    with LoopbackServer(listener, runtime):
        yield runtime


def test_credentials_of_the_environment_come_first(runtime: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "ak")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sk")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "st")
    found = FunctionCredentials().current()
    assert (found.access_key, found.secret_key, found.token) == ("ak", "sk", "st")
    assert runtime.served == 0


@pytest.mark.usefixtures("runtime")
def test_a_restored_sandbox_fetches_its_credentials_once() -> None:
    credentials = FunctionCredentials()
    assert {credentials.current().access_key for _ in range(3)} == {"ak1"}
    assert credentials.current().token == "token"
    credentials.forget()
    assert credentials.current().access_key == "ak2"


def test_credentials_that_end_soon_are_fetched_again_and_used_to_their_end(runtime: Runtime) -> None:
    runtime.lasts_seconds = 30
    credentials = FunctionCredentials()
    assert [credentials.current().access_key for _ in range(2)] == ["ak1", "ak2"]
    runtime.status = 500
    assert credentials.current().access_key == "ak2"


@pytest.mark.parametrize("failure", ["status", "expired", "variable"])
def test_without_credentials_the_error_names_no_secret(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    credentials = FunctionCredentials()
    if failure == "status":
        runtime.status = 500
    if failure == "variable":
        monkeypatch.delenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
    if failure == "expired":
        runtime.lasts_seconds = -10
    with pytest.raises(CredentialsUnavailable) as error:
        credentials.current()
    assert "secret" not in f"{error.value!r}{error.value.__context__!r}"
