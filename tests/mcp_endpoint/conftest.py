from collections.abc import Callable, Iterator

import pytest

from infra.local.login import LocalLogin
from mcp_endpoint import routes
from mcpist.settings import settings
from tests.mcp_endpoint.endpoint_client import PUBLIC_URL, EndpointClient


@pytest.fixture(scope="module", autouse=True)
def sandbox() -> Iterator[None]:
    """One sandbox for a file's tests, closed at the end as Lambda never does."""
    yield
    close()


@pytest.fixture
def endpoint(organization: str, login: LocalLogin) -> EndpointClient:  # noqa: ARG001 - the door needs its members
    return EndpointClient(login)


@pytest.fixture
def given(endpoint: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., EndpointClient]]:
    """The endpoint as another deployment's variables make it."""

    def given(**variables: str) -> EndpointClient:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        settings.cache_clear()
        close()
        return endpoint

    yield given
    close()


def close() -> None:
    """End the sandbox's servers, if it has begun any."""
    if routes.protocol.cache_info().currsize:
        for proxy in (False, True):
            routes.protocol(PUBLIC_URL, proxy=proxy).close()
    routes.protocol.cache_clear()
