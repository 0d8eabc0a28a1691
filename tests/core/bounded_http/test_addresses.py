import socket
import threading
import time
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Any

import pytest

from mcpist.bounded_http.addresses import ForbiddenAddress, check_address
from mcpist.bounded_http.client import HttpClient
from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout
from mcpist.settings import settings
from tests.faults import for_each
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
    "64:ff9b::a00:1",
    "64:ff9b:1::a9fe:a9fe",  # NAT64 of a network's own
    "::ffff:0:10.0.0.1",  # IPv4-translated
    "2002:a00:1::1",  # 6to4
    "2001:0:a9fe:a9fe::1",  # Teredo: the server's address
    "2001:0:4136:e378:8000:63bf:5601:5601",  # Teredo: the client's, inverted
    "2606:4700::5efe:10.0.0.1",  # ISATAP
    "2606:4700::200:5efe:169.254.169.254",
    "168.63.129.16",  # the host of Azure's machines
    "::ffff:168.63.129.16",
]
LOOPBACK = ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "::127.0.0.1", "::ffff:0:127.0.0.1"]


@pytest.fixture
def hosted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with public_url(monkeypatch, "https://mcp.example.com"):
        yield


@pytest.mark.parametrize("address", [*INSIDE, *LOOPBACK])
@pytest.mark.usefixtures("hosted")
def test_no_upstream_is_at_an_address_of_the_inside(address: str) -> None:
    with pytest.raises(ForbiddenAddress):
        check_address(ip_address(address), 443)


@for_each("address", list(INSIDE))
def test_the_embedded_stack_opens_loopback_and_nothing_else(address: str) -> None:
    with pytest.raises(ForbiddenAddress):
        check_address(ip_address(address), 443)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111", "64:ff9b::808:808", "2002:808:808::1"])
@pytest.mark.usefixtures("hosted")
def test_an_upstream_may_be_on_the_internet(address: str) -> None:
    check_address(ip_address(address), 443)


@pytest.mark.parametrize("address", LOOPBACK)
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
def test_the_sandbox_s_own_doors_stay_shut_even_there(
    monkeypatch: pytest.MonkeyPatch, door: str, value: str, address: str
) -> None:
    monkeypatch.setenv(door, value)
    with pytest.raises(ForbiddenAddress, match="sandbox"):
        check_address(ip_address(address), 9001)
    check_address(ip_address(address), 9002)
    check_address(ip_address(address), 9001, embedded_aws=True)


def test_urls_that_we_signed_lead_to_the_embedded_aws_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_SERVICES", "off")
    settings.cache_clear()
    for address in ("127.0.0.1", "169.254.169.254", "10.0.0.1"):
        with pytest.raises(ForbiddenAddress):
            check_address(ip_address(address), 9001, embedded_aws=True)


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[fec0::1]"]
)
@pytest.mark.usefixtures("hosted")
def test_a_deployment_s_request_reaches_no_address_of_the_inside(host: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        pytest.raises(ExchangeFailed, match="Forbidden") as failed,
    ):
        exchange(f"http://{host}:{listening.getsockname()[1]}/")
    assert not failed.value.sent


@pytest.mark.usefixtures("hosted")
def test_one_address_of_the_inside_forbids_the_host_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    resolve(monkeypatch, ["93.184.216.34", "10.0.0.1"])
    with pytest.raises(ExchangeFailed, match="Forbidden"):
        exchange("http://rebinding.example/")


def test_a_request_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    lookups = resolve(monkeypatch, ["127.0.0.1"], then=["10.0.0.1"])
    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(ExchangeTimeout):
        exchange(f"http://rebinding.example:{listening.getsockname()[1]}/", seconds=0.2)
    assert lookups == ["rebinding.example"]


def test_a_resolver_that_hangs_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, released = threading.Event(), threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: asked.set() or (released.wait(20) and []))
    started = time.monotonic()
    with pytest.raises(ExchangeTimeout):
        exchange("http://slow.example/", seconds=1)
    released.set()
    assert asked.is_set(), "the deadline did not pass before the lookup"
    assert time.monotonic() - started < 18  # the resolver hangs for twenty


def exchange(url: str, seconds: float = 5) -> None:
    HttpClient(max_bytes=1000, connect_seconds=5, keep_alive=False).exchange(
        "GET", url, deadline=time.monotonic() + seconds
    )


def resolve(monkeypatch: pytest.MonkeyPatch, addresses: list[str], then: list[str] | None = None) -> list[str]:
    """A resolver that answers these, and something else from the second time on; the names that it was asked for."""
    lookups: list[str] = []
    real = socket.getaddrinfo

    def answer(host: str, port: int, *flags: Any, **more: Any) -> Any:
        if host.replace(".", "").isdigit():
            return real(host, port, *flags, **more)
        lookups.append(host)
        now = addresses if then is None or len(lookups) == 1 else then
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in now]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    return lookups
