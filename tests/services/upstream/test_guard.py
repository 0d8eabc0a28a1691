import asyncio
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import pytest

from mcpist_services.upstream.guard import ForbiddenAddress, GuardedBackend, check_address
from tests.upstreams.connected import public_url

INSIDE = [
    "0.0.0.0",  # noqa: S104
    "10.1.2.3",
    "100.64.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "192.168.1.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::10.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::",
]
LOOPBACK = ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"]


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with public_url(monkeypatch, "https://mcp.example.com"):
        yield


def connect(host: str, port: int) -> None:
    async def once() -> None:
        stream = await GuardedBackend().connect_tcp(host, port, timeout=5)
        await stream.aclose()

    asyncio.run(once())


@pytest.mark.parametrize("address", [*INSIDE, *LOOPBACK])
@pytest.mark.usefixtures("hosted")
def test_no_upstream_is_at_an_address_of_the_inside(address: str) -> None:
    with pytest.raises(ForbiddenAddress):
        check_address(ip_address(address), 443)


@pytest.mark.parametrize("address", INSIDE)
@pytest.mark.usefixtures("embedded")
def test_the_embedded_stack_opens_loopback_and_nothing_else(address: str) -> None:
    with pytest.raises(ForbiddenAddress):
        check_address(ip_address(address), 443)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808"])
@pytest.mark.usefixtures("hosted")
def test_an_upstream_may_be_on_the_internet(address: str) -> None:
    check_address(ip_address(address), 443)


@pytest.mark.parametrize("address", LOOPBACK)
@pytest.mark.usefixtures("embedded")
def test_an_upstream_of_the_embedded_stack_may_be_on_loopback(address: str) -> None:
    check_address(ip_address(address), 3001)


@pytest.mark.parametrize(
    ("door", "value"),
    [
        ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001"),
        ("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001/secret/runtime/1"),
        ("AWS_LAMBDA_RUNTIME_API", "localhost:9001"),
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:9001/credentials"),
        ("AWS_ENDPOINT_URL", "http://localhost:9001"),
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
@pytest.mark.usefixtures("embedded")
def test_the_sandbox_s_own_doors_stay_shut_even_there(
    monkeypatch: pytest.MonkeyPatch, door: str, value: str, address: str
) -> None:
    monkeypatch.setenv(door, value)
    with pytest.raises(ForbiddenAddress, match="sandbox"):
        check_address(ip_address(address), 9001)
    check_address(ip_address(address), 9002)


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
    real = asyncio.BaseEventLoop.getaddrinfo

    async def answer(self: asyncio.BaseEventLoop, host: str, port: int, **more: Any) -> Any:
        if host.replace(".", "").isdigit():
            return await real(self, host, port, **more)
        asked.append(host)
        now = addresses if then is None or len(asked) == 1 else then
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in now]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", answer)
    return asked
