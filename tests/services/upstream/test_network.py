import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from mcpist.bounded_http.addresses import ForbiddenAddress
from mcpist_services.upstream.network import GuardedBackend
from tests.upstreams.connected import public_url


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with public_url(monkeypatch, "https://mcp.example.com"):
        yield


def connect(host: str, port: int) -> None:
    async def once() -> None:
        stream = await GuardedBackend().connect_tcp(host, port, timeout=5)
        await stream.aclose()

    asyncio.run(once())


@pytest.mark.usefixtures("hosted")
def test_a_name_is_judged_by_what_it_resolves_to() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(ForbiddenAddress):
        connect("localhost", listening.getsockname()[1])


@pytest.mark.usefixtures("hosted")
def test_one_address_of_the_inside_among_others_forbids_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, ["93.184.216.34", "10.0.0.1"])
    with pytest.raises(ForbiddenAddress):
        connect("rebinding.example", 80)


@pytest.mark.usefixtures("embedded")
def test_the_address_that_was_judged_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = resolve(monkeypatch, ["127.0.0.1"], then=["10.0.0.1"])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connect("rebinding.example", listening.getsockname()[1])
    assert asked == ["rebinding.example"]


def resolve(monkeypatch: pytest.MonkeyPatch, addresses: list[str], then: list[str] | None = None) -> list[str]:
    """A resolver that answers these, and something else from the second time on; the names it was asked."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def answer(host: str, port: int, *flags: Any, **more: Any) -> Any:
        if host.replace(".", "").isdigit():
            return real(host, port, *flags, **more)
        asked.append(host)
        now = addresses if then is None or len(asked) == 1 else then
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in now]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return asked
