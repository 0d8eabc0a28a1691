"""One database, as the role of an account sees it: reading in a transaction that cannot write, writing in one that can.

Each use logs in anew, so that nothing of one caller's session is left to the next.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout
from mcpist.errors import InvalidRequest, ReconnectRequired, Timeout, UpstreamUnavailable
from mcpist.settings import settings
from mcpist.tools.declare.call import PartialList
from mcpist_services.postgresql.address import parse_address
from mcpist_services.postgresql.stream import MAX_FETCHED_BYTES, ServerError, UntrustedConnection
from mcpist_services.postgresql.values import FORMS, StatementResult, rows_of

if TYPE_CHECKING:
    from mcpist_services.postgresql.session import DatabaseSession

SERVICE = "postgresql"
# The server ends a statement this long before we would, so that it says so itself.
STATEMENT_MARGIN_SECONDS = 0.5
MIN_STATEMENT_SECONDS = 0.1

# No transaction holds a role that runs programs or writes files on the server, or that may become one that does.
_POWERFUL = """select 1 from pg_roles where pg_has_role(session_user, oid, 'member') and (rolsuper or rolname in
('pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files')) limit 1"""
_SET = "".join(f"set local {name} = '{value}'; " for name, value in FORMS.items())
# Classes of SQLSTATE; a deadlock and its like took nothing with them. All others are the statement's own.
_ACCOUNT_ERRORS = ("28", "3D")
_TEMPORARY_ERRORS = ("08", "40", "53", "57P", "58", "XX")
_CANCELLED, _READ_ONLY = "57014", "25006"

type Work = Callable[[DatabaseSession], StatementResult]


class Database:
    """A database that an account's key opens; no connection is made before it is asked something."""

    def __init__(self, key: str) -> None:
        self._address = parse_address(key)

    def read(self, sql: str, parameters: Sequence[Any] = (), *, limit: int, deadline: float) -> Any:
        """Return the rows of a query; a PartialList where there are more than `limit`, or than MAX_FETCHED_BYTES.

        It is run as a cursor, which PostgreSQL declares for a query alone: it refuses any other statement unrun.
        """

        def fetch(session: "DatabaseSession") -> StatementResult:
            session.run(f"declare rows no scroll cursor for {sql}", parameters)
            return session.run_script(f"fetch forward {limit + 1} from rows")

        found = self._use("begin read only", sql, deadline, fetch)
        rows = rows_of(found)
        if not found.is_cut and len(rows) <= limit:
            return rows
        shown = rows[:limit]
        why = f"{MAX_FETCHED_BYTES:,} bytes" if found.is_cut and len(rows) <= limit else f"limit={limit}"
        return PartialList(shown, f"Cut after {len(shown)} rows ({why}): narrow the query, or go on with its OFFSET.")

    def explain(self, sql: str, parameters: Sequence[Any] = (), *, deadline: float) -> Any:
        """Return the plan of a statement, which is not run; `explain analyze` of one that writes is refused."""
        explained = f"explain {sql}"
        found = self._use("begin read only", sql, deadline, lambda session: session.run(explained, parameters))
        return rows_of(found)

    def write(self, sql: str, parameters: Sequence[Any] = (), *, deadline: float) -> dict[str, Any]:
        """Run one statement whole or not at all, and return `{command, affected, rows}`."""

        def carry_out(session: "DatabaseSession") -> StatementResult:
            done = session.run(sql, parameters)
            try:
                session.run_script("commit")
            except ExchangeFailed as error:
                raise _unavailable(str(error)).with_details(may_have_happened=True) from None
            return done

        done = self._use("begin", sql, deadline, carry_out)
        command, _, count = done.command.partition(" ")
        affected = count.rpartition(" ")[2]
        return {
            "command": command,
            "affected": int(affected) if affected.isdigit() else None,
            "rows": rows_of(done),
        }

    def _use(self, begin: str, sql: str, deadline: float, work: Work) -> StatementResult:
        """Return the result of the work in one transaction; each failure is a typed error."""
        from mcpist_services.postgresql.session import DatabaseSession  # imported late: with it comes the driver

        if "\x00" in sql:
            raise InvalidRequest(field="sql", problem="it contains a NUL character")
        with self._typed_errors(deadline - time.monotonic()), DatabaseSession(self._address, deadline) as session:
            seconds = max(deadline - time.monotonic() - STATEMENT_MARGIN_SECONDS, MIN_STATEMENT_SECONDS)
            limits = f"{_SET}set local statement_timeout = {int(seconds * 1000)}"
            # Its query also fixes the transaction's mode: after it no statement can make it writable.
            powerful = session.run_script(f"{begin}; {limits}; {_POWERFUL}")
            if powerful.rows:
                problem = "is a superuser, or may read, write or run files of the server; connect another role"
                raise _reconnect(f"{self._address.user} {problem}")
            return work(session)

    @contextmanager
    def _typed_errors(self, seconds: float) -> Iterator[None]:
        try:
            yield
        except ServerError as error:
            raise self._refused(error, seconds) from None
        except UntrustedConnection as error:
            raise _reconnect(error.reason) from None
        except ExchangeTimeout:
            raise Timeout(service=SERVICE, seconds=round(seconds, 1)) from None
        except ExchangeFailed as error:
            raise _unavailable(str(error)) from None

    def _refused(self, error: ServerError, seconds: float) -> Exception:
        """Return the error for a refusal of the server, by who must act."""
        problem = error.message.replace(self._address.password, "…")
        if error.code == _CANCELLED:
            return Timeout(service=SERVICE, seconds=round(seconds, 1))
        if error.code.startswith(_ACCOUNT_ERRORS):
            return _reconnect(problem)
        if error.code.startswith(_TEMPORARY_ERRORS):
            return _unavailable(problem)
        if error.code == _READ_ONLY:
            problem = f"{problem}: what changes something is for write"
        return InvalidRequest(field="sql", problem=problem)


def _reconnect(problem: str) -> ReconnectRequired:
    return ReconnectRequired(service=SERVICE, url=settings().connect_url(SERVICE), problem=problem)


def _unavailable(problem: str) -> UpstreamUnavailable:
    return UpstreamUnavailable(service=SERVICE, problem=problem)
