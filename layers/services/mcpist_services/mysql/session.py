"""A login at MySQL or MariaDB by the driver: the server binds parameters, and what is kept of its answers is bounded.

The driver takes long to import: nothing imports this before a database is asked something.
Reference: https://dev.mysql.com/doc/dev/mysql-server/latest/PAGE_PROTOCOL.html
"""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from typing import Any, Self

from pymysql.connections import TEXT_TYPES, Connection, MySQLResult
from pymysql.constants import CLIENT, COMMAND, CR, ER, FIELD_TYPE
from pymysql.err import DatabaseError, Error

from mcpist.bounded_http.failures import ExchangeFailed
from mcpist_services.mysql.statements import check_query, command_of, literal
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

_MODES = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
# How statements are read and values written, whatever the server's own settings are.
_FORMS = f"sql_mode = '{_MODES}', time_zone = '+00:00', sql_quote_show_create = 1"
# What an account may have of all databases, or of the one that has the accounts: with more it could become another.
_HARMLESS = {
    *("USAGE", "SELECT", "SHOW DATABASES", "SHOW VIEW", "SHOW_ROUTINE", "PROCESS", "EXECUTE"),
    *("REPLICATION CLIENT", "BINLOG MONITOR", "SLAVE MONITOR"),
}
_GRANT = re.compile(r"GRANT (.+?) ON [`\"]?(\*|(?:[^`\"]|``)+)[`\"]?\.")
_ROLES = re.compile(r"GRANT (?!.* ON )(.+) TO ")
_TEMPORARY = (ER.CON_COUNT_ERROR, ER.SERVER_SHUTDOWN, ER.DISK_FULL, ER.LOCK_WAIT_TIMEOUT, ER.LOCK_DEADLOCK)
_CAUSES: Mapping[int, Cause] = {
    **dict.fromkeys(_TEMPORARY, "temporary"),
    **dict.fromkeys((ER.STATEMENT_TIMEOUT, ER.QUERY_TIMEOUT, ER.QUERY_INTERRUPTED), "cancelled"),
    1792: "read only",
}
_KNOWN = b"\x01\x03"
_SENDS_PASSWORD = ("caching_sha2_password", "sha256_password", "mysql_clear_password", "mysql_old_password", "dialog")
# What the driver raises for packets that are none.
_MALFORMED = (Error, LookupError, ValueError, TypeError, AttributeError, AssertionError, RuntimeError, struct.error)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else f"0x{value.hex()}"


def _moment(text: str, zone: str = "") -> str:
    return text if text.startswith("0000") else moment(text + zone)


_CONVERTERS: Mapping[int, Callable[[Any], Any]] = {
    **dict.fromkeys((FIELD_TYPE.TINY, FIELD_TYPE.SHORT, FIELD_TYPE.INT24, FIELD_TYPE.LONG), integer),
    **dict.fromkeys((FIELD_TYPE.LONGLONG, FIELD_TYPE.YEAR), integer),
    **dict.fromkeys((FIELD_TYPE.FLOAT, FIELD_TYPE.DOUBLE), number),
    **dict.fromkeys(TEXT_TYPES, _text),
    FIELD_TYPE.BIT: int.from_bytes,
    FIELD_TYPE.JSON: json_value,
    FIELD_TYPE.DATETIME: _moment,
    FIELD_TYPE.TIMESTAMP: lambda text: _moment(text, "+00"),
}


class MySqlSession(Connection):  # type: ignore[misc]
    """A login at a database; ServerError and ExchangeFailed end its use."""

    def __init__(self, address: DatabaseAddress, deadline: float) -> None:
        self._fetched_bytes = 0
        with _typed_failures(is_login=True):
            super().__init__(
                host=address.host,
                user=address.user,
                password=address.password.encode(),
                database=address.database,
                autocommit=None,
                conv=_CONVERTERS,
                program_name="mcpist",
                ssl_disabled=True,  # its own, which verifies nothing
                auth_plugin_map=dict.fromkeys(_SENDS_PASSWORD, lambda session: session) if address.is_plain else None,
                defer_connect=True,
            )
            stream = _DriverSocket(address, deadline)
            if not address.is_plain:
                self.ssl, self._ssl_required, self.ctx = True, True, stream
                self.client_flag |= CLIENT.SSL
            self.connect(stream)

    def open_transaction(self, seconds: float, *, reads: bool) -> str:
        """Begin a transaction whose statements end after so long; return why the role has too much power, if it has."""
        is_mariadb = "MariaDB" in self.server_version
        limit = f"max_statement_time = {seconds:.3f}" if is_mariadb else f"max_execution_time = {int(seconds * 1000)}"
        locks = ", ".join(f"{name}lock_wait_timeout = {max(1, int(seconds))}" for name in ("", "innodb_"))
        self._execute(f"set {_FORMS}, {limit}, {locks}")
        with _typed_failures():
            power = self._power(is_mariadb=is_mariadb)
        self._execute(f"start transaction{' read only' if reads else ''}")
        return power

    def commit(self) -> None:
        """End the transaction, so that what was written stays."""
        self._execute("commit")

    def close(self) -> None:
        """End the login, whatever became of the connection."""
        with suppress(Error):
            super().close()

    def run(self, sql: str, parameters: Sequence[Any], max_rows: int | None = None) -> StatementResult:
        """Return the result of one statement, to which the server binds variables; the first where it has several."""
        names = [f"@p{number}" for number in range(len(parameters))]
        with _typed_failures():
            values = map(literal, (sql, *parameters))
            self._execute("set " + ", ".join(map(" = ".join, zip(("@sql", *names), values, strict=True))))
        self._execute("prepare given from @sql")
        result = self._execute(f"execute given{' using ' if names else ''}{', '.join(names)}", max_rows)
        result.command = command_of(sql)
        return result

    def fetch(self, sql: str, parameters: Sequence[Any], max_rows: int) -> StatementResult:
        """Return up to so many rows of a query; ServerError for any other statement, which is not run."""
        check_query(sql)
        return self.run(sql, parameters, max_rows)

    def _execute(self, sql: str, max_rows: int | None = None) -> StatementResult:
        """Return the rows of a statement, cut where they are too large; without a bound such rows are an error."""
        with _typed_failures():
            self._execute_command(COMMAND.COM_QUERY, sql)
            # Where there are more results, the driver reads them before the next command.
            self._result = found = _DriverResult(self, max_rows)
            found.read()
        names = [field.name for field in found.fields]
        return StatementResult(names, found.rows or [], affected=found.affected_rows, is_cut=found.is_cut)

    def _power(self, *, is_mariadb: bool) -> str:
        """Say which power over the server the account has, itself or by a role that it may take on; empty for none."""
        grants = self._grants()
        if roles := [found[1] for grant in grants if (found := _ROLES.match(grant))]:
            active = self._execute("select current_role()").rows[0][0]
            for role in roles:
                self._execute(f"set role {role}")
                grants += self._grants()
            if is_mariadb:
                active = f"`{active.replace('`', '``')}`" if active else "none"
            self._execute(f"set role {active}")
        return "may change accounts, or read or write files of the server" if any(map(_is_power, grants)) else ""

    def _grants(self) -> list[str]:
        return [row[0] for row in self._execute("show grants").rows]

    def authenticate(self, packet: Any) -> Any:
        """Log in without TLS by a method that sends the password: only at a server that knows it already."""
        if packet.get_all_data() != _KNOWN:
            raise ExchangeFailed("its login needs TLS, since it sends the password")
        return self._read_packet()

    def _read_packet(self, *arguments: Any) -> Any:
        """Read a packet, if all of them are not too large."""
        packet = super()._read_packet(*arguments)
        self._fetched_bytes += len(packet.get_all_data()) + 4
        if self._fetched_bytes > MAX_FETCHED_BYTES:
            raise ResultTooLarge(StatementResult())
        return packet


class _DriverSocket(DatabaseStream):
    """The connection as the driver uses it, to which it is also the context of TLS."""

    def settimeout(self, _: Any) -> None:
        """Keep the deadline."""

    def sendall(self, content: bytes) -> None:
        self.write(content)
        self.flush()

    def wrap_socket(self, *_: Any, **__: Any) -> Self:
        self.begin_tls()
        return self


class _DriverResult(MySQLResult):  # type: ignore[misc]
    """A result that is read up to a number of rows."""

    def __init__(self, session: MySqlSession, max_rows: int | None) -> None:
        super().__init__(session)
        self.fields: list[Any] = []
        self.is_cut = False
        self._max_rows = max_rows

    def _read_rowdata_packet(self) -> None:
        self.rows: list[Any] = []
        try:
            while self._max_rows is None or len(self.rows) < self._max_rows:
                packet = self.connection._read_packet()  # noqa: SLF001
                if self._check_packet_is_eof(packet):
                    break
                self.rows.append(self._read_row_from_packet(packet))
                if len(self.rows[-1]) != len(self.fields):
                    raise ValueError("a row ends early")
        except ResultTooLarge:
            if self._max_rows is None:
                raise
            self.is_cut = True
        self.affected_rows = len(self.rows)


def _is_power(grant: str) -> bool:
    found = _GRANT.match(grant)
    if not found or not fnmatchcase("mysql", found[2].replace("%", "*").replace("_", "?")):
        return False
    return not _HARMLESS.issuperset(found[1].split(", "))


@contextmanager
def _typed_failures(*, is_login: bool = False) -> Iterator[None]:
    """Raise what the driver raises as ServerError or as ExchangeFailed, which quotes nothing of it."""
    try:
        yield
    except UnicodeError:
        raise ServerError("a text of it, or of its answer, is not in UTF-8") from None
    except _MALFORMED as error:
        raise _typed(error, is_login=is_login) from None


def _typed(error: Exception, *, is_login: bool) -> Exception:
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, ExchangeFailed):
            return cause  # of the stream: the driver wraps it
        cause = cause.__context__
    code, message = error.args if isinstance(error, DatabaseError) and len(error.args) == 2 else (0, "")
    if code == CR.CR_SSL_CONNECTION_ERROR:
        return UntrustedConnection(NO_TLS)
    if code == CR.CR_AUTH_PLUGIN_CANNOT_LOAD:
        return ServerError(message, "account")
    if code < 1000 or 2000 <= code < 3000:  # the driver's own
        return ExchangeFailed("it does not speak the protocol")
    return ServerError(message, _CAUSES.get(code, "account" if is_login else "statement"))


log_in = MySqlSession
