"""Against a database that lies, and a driver that would believe it."""

import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from mcpist.errors import InvalidRequest, McpistError, ReconnectRequired, Timeout, UpstreamUnavailable
from mcpist.settings import settings
from mcpist_services.sql.address import MYSQL
from mcpist_services.sql.database import Database
from tests.faults import for_each
from tests.services.sql import liar
from tests.services.sql.liar import soon
from tests.upstreams.connected import public_url

SSL = 1 << 11
WITHOUT_TLS = 0x81FF_F7FF & ~SSL


def packet(number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "little") + bytes([number]) + body


def greeting(plugin: bytes = b"mysql_native_password", capabilities: int = WITHOUT_TLS) -> bytes:
    low, high = capabilities & 0xFFFF, capabilities >> 16
    body = b"\x0a8.4.0\x00" + struct.pack("<I", 7) + b"saltsalt\x00" + struct.pack("<HBHHB", low, 45, 2, high, 21)
    return packet(0, body + bytes(10) + b"saltsaltsalt\x00" + plugin + b"\x00")


class Liar(liar.Liar):
    kind = MYSQL
    greeting = greeting()


class LiarByTls(liar.Liar):
    kind = MYSQL
    greeting = greeting(capabilities=WITHOUT_TLS | SSL)


OK = b"\x00\x00\x00\x02\x00\x00\x00"
END = b"\xfe\x00\x00\x02\x00"
# The login, the character set and the settings; then no grants, the transaction, the variables and the statement.
LOGIN = packet(2, OK)
DONE = packet(1, OK)
COLUMN = b"\x03def\x00\x00\x00\x01n\x00\x0c" + struct.pack("<HIBHB", 45, 20, 253, 0, 0) + b"\x00\x00"
NO_GRANTS = packet(1, b"\x01") + packet(2, COLUMN) + packet(3, END) + packet(4, END)
BEGUN = (LOGIN, DONE, DONE, NO_GRANTS, DONE, DONE, DONE)


def rows(*found: bytes) -> bytes:
    last = 4 + len(found)
    content = b"".join(packet(number, row) for number, row in enumerate(found, 4))
    return packet(1, b"\x01") + packet(2, COLUMN) + packet(3, END) + content + packet(last, END)


def test_an_answer_is_read() -> None:
    with Liar(*BEGUN, rows(b"\x01a", b"\xfb")) as server:
        assert server.ask() == [{"n": "a"}, {"n": None}]


def test_a_server_without_tls_is_refused_before_anything_is_said() -> None:
    with Liar(LOGIN) as server:
        assert server.refusal(ReconnectRequired, sslmode="required") == "the database offers no TLS"
    assert server.received == b""


def test_no_byte_before_tls_is_taken_for_one_by_tls() -> None:
    class Early(LiarByTls):
        greeting = LiarByTls.greeting + packet(2, OK)

    with Early() as server:
        assert server.refusal(ReconnectRequired, sslmode="prefer") == "the database offers no TLS"
    assert b"u\x00" not in server.received


def switch(plugin: bytes) -> bytes:
    return packet(2, b"\xfe" + plugin + b"\x00saltsaltsaltsaltsalt\x00")


ASKS_FOR_PASSWORD: dict[str, tuple[bytes, bytes]] = {
    "in full": (greeting(b"caching_sha2_password"), packet(2, b"\x01\x04")),
    "by a key of the server's": (greeting(b"sha256_password"), packet(2, b"\x01-----BEGIN PUBLIC KEY-----")),
    "in clear": (greeting(), switch(b"mysql_clear_password")),
    "as an old one": (greeting(), switch(b"mysql_old_password")),
    "in a dialog": (greeting(), packet(2, b"\xfedialog\x00\x04Password: ")),
    "by another method": (greeting(), switch(b"caching_sha2_password")),
}


@for_each("first, asks", ASKS_FOR_PASSWORD)
def test_no_password_is_sent_without_tls(first: bytes, asks: bytes) -> None:
    class Asks(Liar):
        greeting = first

    with Asks(asks, packet(4, b"\x01\x04"), packet(4, OK)) as server:
        assert "needs TLS" in server.refusal(UpstreamUnavailable)


def test_a_server_that_knows_the_password_already_needs_no_tls() -> None:
    class Knows(Liar):
        greeting = greeting(b"caching_sha2_password")

    with Knows(packet(2, b"\x01\x03") + packet(3, OK), *BEGUN[1:], rows(b"\x01a")) as server:
        assert server.ask() == [{"n": "a"}]


def test_no_file_of_ours_is_sent_to_a_server_that_asks_for_it() -> None:
    with Liar(*BEGUN, packet(1, b"\xfb/etc/passwd")) as server:
        assert "does not speak the protocol" in server.refusal(UpstreamUnavailable)
    assert b"root:" not in server.received


BROKEN = {
    "a row that ends early": rows(b""),
    "a row that is too long": rows(b"\xfd\xff\xff\xff"),
    "columns without an end": packet(1, b"\x01") + packet(2, COLUMN) + packet(3, OK),
    "endless columns": packet(1, b"\xfe" + b"\xff" * 8) + packet(2, COLUMN),
    "a packet out of turn": packet(7, OK),
    "another encoding": rows(b"\x01\xff"),
    "an error of the client's": packet(1, b"\xff" + struct.pack("<H", 2013) + b"#HY000gone"),
    "nothing": packet(1, b""),
}


@for_each("answer", BROKEN)
def test_an_answer_that_is_no_answer_is_an_error(answer: bytes) -> None:
    with Liar(*BEGUN, answer) as server:
        server.refusal(McpistError)


def test_a_packet_that_is_too_large_is_not_read() -> None:
    with Liar(*BEGUN, b"\xff\xff\xff\x01") as server:
        assert "larger than" in server.refusal(InvalidRequest)


def test_a_server_that_says_nothing_is_a_timeout() -> None:
    with Liar(b"") as server:
        server.refusal(Timeout)


ENDS: dict[str, tuple[bytes, ...]] = {"the statement": BEGUN, "the commit": (*BEGUN, DONE)}


@for_each("answers", ENDS)
def test_a_write_without_an_answer_may_have_happened(answers: tuple[bytes | Callable[[bytes], bytes], ...]) -> None:
    def ends(_: bytes) -> bytes:
        raise OSError

    with Liar(*answers, ends) as server, pytest.raises(UpstreamUnavailable) as caught:
        server.open().write("drop table t", deadline=soon())
    assert caught.value.details["may_have_happened"]


@for_each("networks, reached", {"none": ("", False), "it": ("10.0.0.0/8", True)})
def test_a_private_database_is_reached_in_the_owners_networks_alone(
    networks: str, reached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []

    def connect(address: Any, *_: Any, **__: Any) -> Any:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setenv("DATABASE_NETWORKS", networks)
    database = Database(MYSQL, "mysql://u:p@10.1.2.3/d")
    with public_url(monkeypatch, "https://mcp.example.com"):
        settings.cache_clear()
        with pytest.raises(UpstreamUnavailable):
            database.read("select 1", limit=1, deadline=time.monotonic() + 5)
    assert connected == ([("10.1.2.3", 3306)] if reached else [])
