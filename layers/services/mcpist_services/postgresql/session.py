"""A login at a database by the driver: it binds parameters, and what it believes and keeps of a server is bounded.

The driver takes 0.1 s to import: nothing imports this before a database is asked something.
Reference: https://www.postgresql.org/docs/current/protocol-message-formats.html
"""

import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import scramp
from pg8000.core import CoreConnection
from pg8000.exceptions import DatabaseError, Error, InterfaceError
from scramp.core import ClientStage

from mcpist.bounded_http.failures import ExchangeFailed
from mcpist_services.postgresql.address import DatabaseAddress
from mcpist_services.postgresql.stream import MAX_FETCHED_BYTES, DatabaseStream, ServerError
from mcpist_services.postgresql.values import CONVERTERS, StatementResult

_LOGIN_OK, _CLEARTEXT, _MD5 = 0, 3, 5
_NO_PROOF = "it wants a login that is not supported, or did not prove that it knows the password"
# What the driver raises for messages that are none.
_MALFORMED = (Error, scramp.ScramException, LookupError, ValueError, TypeError, AttributeError, struct.error)


class ResultTooLarge(ServerError):
    """Rows of more than MAX_FETCHED_BYTES: nothing can be asked after the result, which has those before the bound."""

    def __init__(self, context: Any) -> None:
        super().__init__({"C": "54000", "M": f"its rows are larger than {MAX_FETCHED_BYTES:,} bytes: return fewer"})
        self.result = replace(_result(context), is_cut=True)


class DatabaseSession(CoreConnection):  # type: ignore[misc]
    """A login at a database; ServerError and ExchangeFailed end its use."""

    def __init__(self, address: DatabaseAddress, deadline: float) -> None:
        self._stream = DatabaseStream(address, deadline)
        self._has_login = False
        self._fetched_bytes = 0
        self.auth: Any = None
        try:
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
        self.pg_types = defaultdict(lambda: str, CONVERTERS)

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
            raise ResultTooLarge(context)
        super().handle_DATA_ROW(data, context)

    def handle_COMMAND_COMPLETE(self, data: bytes, context: Any) -> None:
        """Keep the command, of which the driver keeps the number alone."""
        context.command = data[:-1].decode()

    def handle_COPY_IN_RESPONSE(self, *_: Any) -> None:
        """Refuse to copy."""
        raise ServerError({"C": "0A000", "M": "COPY from or to the client is not supported"})

    handle_COPY_OUT_RESPONSE = handle_COPY_IN_RESPONSE

    def handle_NOTICE_RESPONSE(self, *_: Any) -> None:
        """Keep nothing that was not asked for: the driver would keep all of it."""

    handle_NOTIFICATION_RESPONSE = handle_PARAMETER_STATUS = handle_NOTICE_RESPONSE


def _result(context: Any) -> StatementResult:
    names = [column["name"] for column in context.columns or ()]
    return StatementResult(names, context.rows or [], getattr(context, "command", ""))


@contextmanager
def _typed_failures(reason: str) -> Iterator[None]:
    """Raise what the driver raises as ServerError or as ExchangeFailed, which quotes nothing of it."""
    try:
        yield
    except DatabaseError as error:
        raise ServerError(error.args[0]) from None
    except UnicodeError:
        raise ServerError({"C": "22021", "M": "a text of it, or of its answer, is not in UTF-8"}) from None
    except _MALFORMED as error:
        # Of the stream: the driver wraps what a write raises.
        raise error.__cause__ if isinstance(error.__cause__, ExchangeFailed) else ExchangeFailed(reason) from None
