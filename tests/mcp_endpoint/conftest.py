from collections.abc import Iterator

import pytest

from infra.local.login import LocalLogin
from mcp_endpoint import handler
from tests.mcp_endpoint.door import PUBLIC_URL, Door


@pytest.fixture(scope="module", autouse=True)
def sandbox() -> Iterator[None]:
    """One sandbox for a file's tests, closed at the end as Lambda never does."""
    yield
    if handler.protocol.cache_info().currsize:
        for proxy in (False, True):
            handler.protocol(PUBLIC_URL, proxy=proxy).close()
    handler.protocol.cache_clear()


@pytest.fixture
def endpoint(organization: str, login: LocalLogin) -> Door:  # noqa: ARG001 - the door needs its members
    return Door(login)
