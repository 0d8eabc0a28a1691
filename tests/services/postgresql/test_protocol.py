"""Against a database that lies: a few messages of its protocol over a socket, without TLS where not said otherwise."""

import base64
import socket
import struct
import time
from collections.abc import Callable
from typing import Any

import pytest

from mcpist.errors import InvalidRequest, McpistError, ReconnectRequired, Timeout, UpstreamUnavailable
from mcpist.settings import settings
from mcpist_services.postgresql.session import PostgreSqlSession
from mcpist_services.sql.address import POSTGRESQL, parse_address
from mcpist_services.sql.database import Database
from tests.faults import for_each
from tests.services.sql import liar
from tests.services.sql.liar import soon
from tests.upstreams.connected import public_url

READY = b"Z\x00\x00\x00\x05I"
OK = b"R\x00\x00\x00\x08\x00\x00\x00\x00"


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


def sasl(kind: int, body: bytes) -> bytes:
    return message(b"R", struct.pack("!i", kind) + body)


class Liar(liar.Liar):
    kind = POSTGRESQL


def complete(*tags: bytes) -> bytes:
    return b"".join(message(b"C", tag + b"\x00") for tag in tags) + READY


def rows(*values: bytes) -> bytes:
    column = message(b"T", struct.pack("!h", 1) + b"n\x00" + struct.pack("!IhIhih", 0, 0, 23, 4, -1, 0))
    found = b"".join(message(b"D", struct.pack("!hi", 1, len(value)) + value) for value in values)
    return column + found + complete(b"FETCH 1")


BEGUN = complete(b"BEGIN", b"SET", b"SELECT 0")
# Answers to a statement that is parsed, described and carried out.
PREPARED = (message(b"1", b"") + READY, message(b"n", b"") + READY)
DECLARED = (*PREPARED, message(b"2", b"") + complete(b"DECLARE CURSOR"))
SALT = b"salt of a role"


def test_an_answer_in_parts_is_read() -> None:
    with Liar(OK + message(b"S", b"a\x00b\x00") + READY, BEGUN, *DECLARED, rows(b"7", b"8")) as server:
        assert server.ask() == [{"n": 7}, {"n": 8}]


def test_no_password_is_sent_without_tls() -> None:
    for kind in (3, 5):
        with Liar(sasl(kind, b"salt" if kind == 5 else b"")) as server:
            assert "not supported" in server.refusal(UpstreamUnavailable)


def test_a_server_without_tls_is_refused_before_anything_is_said() -> None:
    with Liar(b"N") as server:
        assert server.refusal(ReconnectRequired, sslmode="require") == "the database offers no TLS"
    assert server.received == struct.pack("!ii", 8, 80877103)


def test_no_byte_before_tls_is_taken_for_one_by_tls() -> None:
    with Liar(b"S" + OK + READY) as server:
        assert server.refusal(ReconnectRequired, sslmode="prefer") == "the database offers no TLS"


def challenge(received: bytes, *, iterations: int = 4096, own: bool = True) -> bytes:
    nonce = received.rpartition(b"r=")[2] if own else b"another"
    return sasl(11, b"r=%bserver,s=%b,i=%d" % (nonce, base64.b64encode(SALT), iterations))


OFFER = sasl(10, b"SCRAM-SHA-256-PLUS\x00SCRAM-SHA-256\x00\x00")
LIES: dict[str, tuple[bytes | Callable[[bytes], bytes], ...]] = {
    "it skips its own proof": (OFFER, challenge, OK + READY),
    "it is ready at once": (READY,),
    "it is content before the proof": (OFFER, OK + READY),
    "its proof is wrong": (OFFER, challenge, sasl(12, b"v=" + base64.b64encode(b"x" * 32)) + OK + READY),
    "its nonce is another": (OFFER, lambda read: challenge(read, own=False)),
    "it wants endless work": (OFFER, lambda read: challenge(read, iterations=2_000_000_000)),
    "it offers what is not known": (sasl(10, b"OAUTHBEARER\x00\x00"),),
    "its challenge is none": (OFFER, sasl(11, b"\xff\xfe")),
    "it is of another kind": (b"HTTP/1.1 400 Bad Request\r\n\r\n",),
}


@for_each("answers", LIES)
def test_a_server_that_does_not_know_the_password_is_refused(answers: tuple[Any, ...]) -> None:
    with Liar(*answers) as server:
        server.refusal(McpistError)
    assert b"begin" not in server.received


BROKEN = {
    "a row that ends early": rows().replace(complete(b"FETCH 1"), message(b"D", struct.pack("!hi", 1, 3)) + READY),
    "columns without an end": message(b"T", struct.pack("!h", 3) + b"n") + READY,
    "a message without a size": b"D\x00\x00\x00\x00",
    "other columns after a row": rows(b"7").partition(message(b"C", b"FETCH 1\x00"))[0]
    + message(b"T", struct.pack("!h", 2) + (b"n\x00" + struct.pack("!IhIhih", 0, 0, 23, 4, -1, 0)) * 2)
    + complete(b"FETCH 1"),
    "the end": b"",
}


@for_each("answer", BROKEN)
def test_an_answer_that_is_no_answer_is_an_error(answer: bytes) -> None:
    with Liar(OK + READY, BEGUN, *DECLARED, answer) as server:
        server.listener.settimeout(5)
        server.refusal(McpistError)


def test_what_a_server_says_unasked_fills_no_memory() -> None:
    said = b"".join(message(b"S", b"name%d\x00value\x00" % number) + message(b"N", b"x\x00") for number in range(9))
    with Liar(OK + said + READY) as server:
        url = f"postgresql://u:p@127.0.0.1:{server.port}/d?sslmode=disable"
        address = parse_address(url, POSTGRESQL)
        session = PostgreSqlSession(address, soon())
        assert [*session.parameter_statuses, *session.notices, *session.notifications] == []
        session.close()


def test_a_message_that_is_too_large_is_not_read() -> None:
    with Liar(OK + READY, BEGUN, *DECLARED, b"D" + struct.pack("!I", 2_000_000_000)) as server:
        assert "larger than" in server.refusal(InvalidRequest)


def test_a_server_that_says_nothing_is_a_timeout() -> None:
    with Liar(b"") as server:
        server.refusal(Timeout)


def test_a_commit_without_an_answer_may_have_happened() -> None:
    def ends(_: bytes) -> bytes:
        raise OSError

    with Liar(OK + READY, BEGUN, *PREPARED, complete(b"UPDATE 1"), ends) as server:
        database = Database(POSTGRESQL, f"postgresql://u:p@127.0.0.1:{server.port}/d?sslmode=disable")
        with pytest.raises(UpstreamUnavailable) as caught:
            database.write("update t set a = 1", deadline=soon())
    assert caught.value.details["may_have_happened"]


# -- where a database may be --------------------------------------------------------------------------


def problem_at(host: str) -> str:
    settings.cache_clear()
    database = Database(POSTGRESQL, f"postgresql://u:p@{host}/d")
    with pytest.raises(UpstreamUnavailable) as caught:
        database.read("select 1", limit=1, deadline=time.monotonic() + 5)
    return str(caught.value.details["problem"])


@for_each("networks, reached", {"none": ("", False), "it": ("10.0.0.0/8", True), "another": ("192.168.0.0/16", False)})
def test_a_private_database_is_reached_in_the_owners_networks_alone(
    networks: str, reached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected: list[Any] = []

    def connect(address: Any, *_: Any, **__: Any) -> Any:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setenv("DATABASE_NETWORKS", networks)
    with public_url(monkeypatch, "https://mcp.example.com"):
        problem_at("10.1.2.3")
    assert connected == ([("10.1.2.3", 5432)] if reached else [])


@for_each(
    "host",
    {"metadata": "169.254.169.254", "IPv6": "[fd00:ec2::254]", "itself": "127.0.0.1", "as 6": "[::ffff:a9fe:a9fe]"},
)
def test_no_network_of_the_owners_opens_a_machines_credentials(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("it was reached"))
    monkeypatch.setenv("DATABASE_NETWORKS", "0.0.0.0/0,::/0")
    with public_url(monkeypatch, "https://mcp.example.com"):
        assert "private or reserved" in problem_at(host)


# -- addresses ----------------------------------------------------------------------------------------

WRONG = {
    "another scheme": "https://u:p@db.example.com/d",
    "no password": "postgresql://reader@db.example.com/d",
    "no database": "postgresql://u:p@db.example.com",
    "several hosts": "postgresql://u:p@a.example.com,b.example.com/d",
    "a NUL": "postgresql://u%00x:p@db.example.com/d",
    "an option": "postgresql://u:p@db.example.com/d?options=-c%20role%3Dx",
    "no mode": "postgresql://u:p@db.example.com/d?sslmode=none",
    "no certificate": "postgresql://u:p@db.example.com/d?sslrootcert=/etc/ssl/ca.pem",
    "no port": "postgresql://u:p@db.example.com:port/d",
    "a fragment": "postgresql://u:p#1@db.example.com/d",
}


@for_each("url", WRONG)
def test_an_address_that_cannot_be_used_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parse_address(url, POSTGRESQL)
    assert "example" not in caught.value.details["problem"]


def test_an_address_is_read_as_providers_of_databases_write_it() -> None:
    url = "postgres://app:p%40ss%2F@db.example.com:6543/my%20db?sslmode=require&channel_binding=require"
    found = parse_address(url, POSTGRESQL)
    assert (found.user, found.password, found.host, found.port) == ("app", "p@ss/", "db.example.com", 6543)
    assert (found.database, found.is_plain, found.title) == ("my db", False, "app@db.example.com:6543/my db")
    assert "p@ss" not in repr(found)
