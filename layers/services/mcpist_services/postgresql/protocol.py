"""PostgreSQL's protocol: a login, then statements whose parameters are bound; values stay the server's own texts.

Reference: https://www.postgresql.org/docs/current/protocol-message-formats.html
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

from mcpist.bounded_http.failures import ExchangeFailed
from mcpist_services.postgresql.address import DatabaseAddress
from mcpist_services.postgresql.login import PasswordProof
from mcpist_services.postgresql.stream import DatabaseStream

MAX_FETCHED_BYTES = 10_000_000
_PROTOCOL = 196608
_HEADER, _INT, _SHORT, _COLUMN = (
    struct.Struct("!cI"),
    struct.Struct("!i"),
    struct.Struct("!h"),
    struct.Struct("!IhIhih"),
)
_SYNC, _TERMINATE = b"S\x00\x00\x00\x04", b"X\x00\x00\x00\x04"


class ServerError(Exception):
    """A request that the server refused."""

    def __init__(self, fields: dict[str, str]) -> None:
        super().__init__(fields.get("M", ""))
        self.code = fields.get("C", "")
        """The SQLSTATE."""
        self.message = ". ".join(filter(None, (fields.get(name, "").rstrip(".") for name in "MDH")))


class Statement(NamedTuple):
    """One statement with the values of `$1`, `$2` and so on, each as PostgreSQL's text."""

    sql: str
    parameters: Sequence[str | None] = ()


class ResultColumn(NamedTuple):
    """A column of a result."""

    name: str
    type: int
    """The OID of its type."""


@dataclass(slots=True)
class StatementResult:
    """The result of one statement."""

    columns: list[ResultColumn] = field(default_factory=list)
    rows: list[list[str | None]] = field(default_factory=list)
    command: str = ""
    """The command that was carried out with its number of rows, e.g. `UPDATE 3`."""
    is_cut: bool = False
    """Whether rows are left out, since they are larger than MAX_FETCHED_BYTES."""


class DatabaseSession:
    """A login at a database; ServerError and ExchangeFailed end its use."""

    def __init__(self, address: DatabaseAddress, deadline: float) -> None:
        self._stream = DatabaseStream(address, deadline)
        self._bytes = 0
        try:
            self._log_in(address)
        except BaseException:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._stream.send(_TERMINATE)
        except ExchangeFailed:
            pass
        finally:
            self._stream.close()

    def run(self, *statements: Statement, may_stop: bool = False) -> list[StatementResult]:
        """Return the results of statements that are sent together; the first that fails ends them.

        `may_stop` ends the reading where rows are left out: nothing else can be asked after that.
        """
        self._stream.send(b"".join(map(_messages, statements)) + _SYNC)
        results = [StatementResult()]
        refused: ServerError | None = None
        while True:
            kind, body = self._receive()
            match kind:
                case b"T":
                    results[-1].columns = _columns(body)
                case b"D":
                    self._add(results[-1], body)
                    if may_stop and results[-1].is_cut:
                        return results
                case b"C":
                    results[-1].command = _text(body[:-1])
                    results.append(StatementResult())
                case b"E":
                    refused = refused or ServerError(_fields(body))
                case b"G" | b"H" | b"W":
                    raise ServerError({"C": "0A000", "M": "COPY from or to the client is not supported"})
                case b"Z":
                    if refused:
                        raise refused
                    return results[:-1]

    def _add(self, result: StatementResult, body: bytes) -> None:
        self._bytes += len(body)
        if self._bytes > MAX_FETCHED_BYTES:
            result.is_cut = True
        else:
            result.rows.append(_values(body))

    def _log_in(self, address: DatabaseAddress) -> None:
        names = {"user": address.user, "database": address.database, "client_encoding": "UTF8"}
        names["application_name"] = "mcpist"
        body = b"".join(_string(part) for pair in names.items() for part in pair) + b"\x00"
        self._stream.send(_INT.pack(len(body) + 8) + _INT.pack(_PROTOCOL) + body)
        login = PasswordProof(address.user, address.password, is_secure=self._stream.is_secure)
        while True:
            kind, body = self._receive()
            if kind == b"E":
                raise ServerError(_fields(body))
            if kind == b"R":
                answer = login.answer(_INT.unpack_from(body)[0], body[_INT.size :])
                if answer is not None:
                    self._stream.send(_message(b"p", answer))
            elif kind == b"Z":
                if not login.is_done:
                    raise ExchangeFailed("the database did not prove that it knows the password")
                return

    def _receive(self) -> tuple[bytes, bytes]:
        """Return the next message: its kind and its body."""
        kind, size = _HEADER.unpack(self._stream.receive(_HEADER.size))
        if not _INT.size <= size <= MAX_FETCHED_BYTES:
            raise ServerError(
                {"C": "54000", "M": f"a row is larger than {MAX_FETCHED_BYTES:,} bytes: select less of it"}
            )
        return kind, self._stream.receive(size - _INT.size)


def _messages(statement: Statement) -> bytes:
    """Return the messages of one statement: parsed, bound to its values, described and executed."""
    values = b"".join(
        _INT.pack(-1) if value is None else _INT.pack(len(content := _encoded(value))) + content
        for value in statement.parameters
    )
    bound = b"\x00\x00" + _SHORT.pack(0) + _SHORT.pack(len(statement.parameters)) + values + _SHORT.pack(0)
    return (
        _message(b"P", b"\x00" + _string(statement.sql) + _SHORT.pack(0))
        + _message(b"B", bound)
        + _message(b"D", b"P\x00")
        + _message(b"E", b"\x00" + _INT.pack(0))
    )


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + _INT.pack(len(body) + _INT.size) + body


def _encoded(text: str) -> bytes:
    return text.encode(errors="replace")


def _string(text: str) -> bytes:
    return _encoded(text) + b"\x00"


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _fields(body: bytes) -> dict[str, str]:
    return {_text(part[:1]): _text(part[1:]) for part in body.split(b"\x00") if part}


def _columns(body: bytes) -> list[ResultColumn]:
    try:
        (count,), position = _SHORT.unpack_from(body), _SHORT.size
        found: list[ResultColumn] = []
        for _ in range(count):
            end = body.index(b"\x00", position)
            _, _, kind, *_ = _COLUMN.unpack_from(body, end + 1)
            found.append(ResultColumn(_text(body[position:end]), kind))
            position = end + 1 + _COLUMN.size
    except (struct.error, ValueError):
        raise ExchangeFailed("it does not speak the protocol") from None
    return found


def _values(body: bytes) -> list[str | None]:
    try:
        (count,), position = _SHORT.unpack_from(body), _SHORT.size
        found: list[str | None] = []
        for _ in range(count):
            (size,) = _INT.unpack_from(body, position)
            position += _INT.size
            found.append(None if size < 0 else _text(body[position : position + size]))
            position += max(size, 0)
    except struct.error:
        raise ExchangeFailed("it does not speak the protocol") from None
    return found
