"""A login at a database by the driver: it binds parameters, and what it believes and keeps of a server is bounded.

The driver takes 0.1 s to import: nothing imports this before a database is asked something.
Reference: https://www.postgresql.org/docs/current/protocol-message-formats.html
"""

import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import scramp
from pg8000.core import CoreConnection
from pg8000.exceptions import DatabaseError, Error, InterfaceError
from scramp.core import ClientStage

from mcpist.bounded_http.failures import ExchangeFailed
from mcpist_services.sql.address import DatabaseAddress
from mcpist_services.sql.stream import (
    MAX_FETCHED_BYTES,
    NO_TLS,
    Cause,
    DatabaseStream,
    ResultTooLarge,
    ServerError,
    UntrustedConnection,
)
from mcpist_services.sql.values import StatementResult, integer, json_value, moment, number

_SSL_REQUEST = (8).to_bytes(4) + (80877103).to_bytes(4)
# The forms in which the server writes values, whatever its own settings are.
_FORMS = {"datestyle": "ISO", "timezone": "UTC", "intervalstyle": "iso_8601", "bytea_output": "hex"}
_SET = "".join(f"set local {name} = '{value}'; " for name, value in _FORMS.items())
# By the OID of a type: bool; int8, int2, int4, oid; float4, float8; json, jsonb; timestamp, timestamptz.
_CONVERTERS: Mapping[int, Callable[[str], Any]] = {
    16: "t".__eq__,
    **dict.fromkeys((20, 21, 23, 26), integer),
    **dict.fromkeys((700, 701), number),
    **dict.fromkeys((114, 3802), json_value),
    **dict.fromkeys((1114, 1184), moment),
}
# No transaction holds a role that runs programs or writes files on the server, or that may become one that does.
_POWERFUL = """select 1 from pg_roles where pg_has_role(session_user, oid, 'member') and (rolsuper or rolname in
('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')) limit 1"""
# Beginnings of SQLSTATE; a deadlock and its like took nothing with them.
_CAUSES: Mapping[str, Cause] = {
    **dict.fromkeys(("28", "3D"), "account"),
    "57014": "cancelled",
    "25006": "read only",
    **dict.fromkeys(("08", "40", "53", "57P", "58", "XX"), "temporary"),
}
_LOGIN_OK, _CLEARTEXT, _MD5 = 0, 3, 5
_NO_PROOF = "it wants a login that is not supported, or did not prove that it knows the password"
# What the driver raises for messages that are none.
_MALFORMED = (Error, scramp.ScramException, LookupError, ValueError, TypeError, AttributeError, struct.error)


class PostgreSqlSession(CoreConnection):  # type: ignore[misc]
    """A login at a database; ServerError and ExchangeFailed end its use."""

    def __init__(self, address: DatabaseAddress, deadline: float) -> None:
        self._stream = DatabaseStream(address, deadline)
        self._has_login = False
        self._fetched_bytes = 0
        self.auth: Any = None
        try:
            if not address.is_plain:
                self._begin_tls()
            with _typed_failures(_NO_PROOF):
                super().__init__(
                    address.user,
                    database=address.database,
                    password=address.password,
                    sock=self._stream,
                    ssl_context=False,  # the stream has begun TLS
                    application_name="mcpist",
                    startup_params={"client_encoding": "UTF8"},
                )
        except BaseException:
            self._stream.close()
            raise
        self.pg_types = defaultdict(lambda: str, _CONVERTERS)

    def open_transaction(self, seconds: float, *, reads: bool) -> str:
        """Begin a transaction whose statements end after so long; return why the role has too much power, if it has."""
        limits = f"{_SET}set local statement_timeout = {int(seconds * 1000)}"
        # Its query also fixes the transaction's mode: after it no statement can make it writable.
        powerful = self.run_script(f"begin{' read only' if reads else ''}; {limits}; {_POWERFUL}")
        return "is a superuser, or may read, write or run files of the server" if powerful.rows else ""

    def fetch(self, sql: str, parameters: Sequence[Any], max_rows: int) -> StatementResult:
        """Return up to so many rows of a cursor: PostgreSQL declares one for a query, and runs no other statement."""
        self.run(f"declare rows no scroll cursor for {sql}", parameters)
        return self.run_script(f"fetch forward {max_rows} from rows")

    def commit(self) -> None:
        """End the transaction, so that what was written stays."""
        self.run_script("commit")

    def run(self, sql: str, parameters: Sequence[Any]) -> StatementResult:
        """Return the result of one statement; the server binds the values of `$1`, `$2` and so on."""
        with _typed_failures("it does not speak the protocol"):
            return _result(self.execute_unnamed(sql, parameters))

    def run_script(self, sql: str) -> StatementResult:
        """Return the rows of statements that contain nothing of a caller's; cut rows are a result here."""
        with _typed_failures("it does not speak the protocol"):
            try:
                return _result(self.execute_simple(sql))
            except ResultTooLarge as cut:
                return cut.result

    def close(self) -> None:
        """End the login, whatever became of the connection."""
        with suppress(InterfaceError):
            super().close()

    def _begin_tls(self) -> None:
        self._stream.write(_SSL_REQUEST)
        self._stream.flush()
        if self._stream.read(1) != b"S":
            raise UntrustedConnection(NO_TLS)
        self._stream.begin_tls()

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:
        """Send no password without TLS, and believe no server that has left out its part of a proof."""
        kind = int.from_bytes(data[:4])
        if kind in {_CLEARTEXT, _MD5} and not self._stream.is_secure:
            raise ExchangeFailed(_NO_PROOF)
        # By a socket of TLS itself the driver binds the proof to the server's certificate, where that offers it.
        self._usock = self._stream.socket
        super().handle_AUTHENTICATION_REQUEST(data, context)
        proved = self.auth is None or self.auth.stage == ClientStage.set_server_final
        self._has_login = kind == _LOGIN_OK and proved

    def handle_READY_FOR_QUERY(self, data: bytes, context: Any) -> None:
        """Ask nothing of a server that has not proved itself: the driver is content with one that is ready."""
        if not self._has_login:
            raise ExchangeFailed(_NO_PROOF)
        super().handle_READY_FOR_QUERY(data, context)

    def handle_DATA_ROW(self, data: bytes, context: Any) -> None:
        """Keep a row, if all of them are not too large."""
        self._fetched_bytes += len(data)
        if self._fetched_bytes > MAX_FETCHED_BYTES:
            raise ResultTooLarge(_result(context))
        super().handle_DATA_ROW(data, context)

    def handle_COMMAND_COMPLETE(self, data: bytes, context: Any) -> None:
        """Keep the command, of which the driver keeps the number alone."""
        context.command = data[:-1].decode()

    def handle_COPY_IN_RESPONSE(self, *_: Any) -> None:
        """Refuse to copy."""
        raise ServerError("COPY from or to the client is not supported")

    handle_COPY_OUT_RESPONSE = handle_COPY_IN_RESPONSE

    def handle_NOTICE_RESPONSE(self, *_: Any) -> None:
        """Keep nothing that was not asked for: the driver would keep all of it."""

    handle_NOTIFICATION_RESPONSE = handle_PARAMETER_STATUS = handle_NOTICE_RESPONSE


def _result(context: Any) -> StatementResult:
    names, rows = [column["name"] for column in context.columns or ()], context.rows or []
    if any(len(row) != len(names) for row in rows):
        raise LookupError("the columns were described once more")
    command, _, count = getattr(context, "command", "").partition(" ")
    affected = count.rpartition(" ")[2]
    return StatementResult(names, rows, command, int(affected) if affected.isdigit() else None)


def _server_error(fields: Mapping[str, str]) -> ServerError:
    message = ". ".join(filter(None, (fields.get(name, "").rstrip(".") for name in "MDH")))
    return ServerError(
        message, next((_CAUSES[one] for one in _CAUSES if fields.get("C", "").startswith(one)), "statement")
    )


@contextmanager
def _typed_failures(reason: str) -> Iterator[None]:
    """Raise what the driver raises as ServerError or as ExchangeFailed, which quotes nothing of it."""
    try:
        yield
    except DatabaseError as error:
        raise _server_error(error.args[0]) from None
    except UnicodeError:
        raise ServerError("a text of it, or of its answer, is not in UTF-8") from None
    except _MALFORMED as error:
        # Of the stream: the driver wraps what a write raises.
        raise error.__cause__ if isinstance(error.__cause__, ExchangeFailed) else ExchangeFailed(reason) from None


log_in = PostgreSqlSession
