from collections.abc import Callable, Iterator

import pytest

from infra.local.login import LocalLogin
from mcp_endpoint import handler as endpoint_handler
from mcpist.batch.execution import quick_reads, submission
from mcpist.polling import Polling
from mcpist.settings import settings
from tests.mcp_endpoint.endpoint_client import PUBLIC_URL, EndpointClient


@pytest.fixture(scope="module", autouse=True)
def sandbox() -> Iterator[None]:
    """Share one sandbox among a file's tests, and close it at the end."""
    yield
    close()


@pytest.fixture(autouse=True)
def unwaited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no request wait for a batch, or run its reads: nothing runs those of these tests."""
    monkeypatch.setattr(quick_reads, "MAX_START_SECONDS", -1)
    monkeypatch.setattr(submission, "LEDGER_POLLING", Polling(initial_seconds=60, max_seconds=60))


@pytest.fixture
def endpoint(organization: str, login: LocalLogin) -> EndpointClient:  # noqa: ARG001 - the door needs its members
    return EndpointClient(login)


@pytest.fixture
def given(endpoint: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., EndpointClient]]:
    """Return the endpoint with other environment variables."""

    def given(**variables: str) -> EndpointClient:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()
        close()
        return endpoint

    yield given
    close()


def close() -> None:
    """Stop the sandbox's servers, if there are any."""
    if endpoint_handler.protocol.cache_info().currsize:
        for proxy in (False, True):
            endpoint_handler.protocol(PUBLIC_URL, proxy=proxy).close()
    endpoint_handler.protocol.cache_clear()
