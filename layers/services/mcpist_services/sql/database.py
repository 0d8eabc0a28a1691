"""One database, as the role of an account sees it: reading in a transaction that cannot write, writing in one that can.

Each use logs in anew, so that nothing of one caller's session is left to the next.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol

from mcpist.bounded_http.failures import ExchangeFailed, ExchangeTimeout
from mcpist.errors import InvalidRequest, ReconnectRequired, Timeout, UpstreamUnavailable
from mcpist.running.refusals import error_message
from mcpist.settings import settings
from mcpist.tools.declare.call import PartialList
from mcpist_services.sql.address import DatabaseKind, parse_address
from mcpist_services.sql.stream import MAX_FETCHED_BYTES, ServerError, UntrustedConnection
from mcpist_services.sql.values import StatementResult, rows_of

# The server ends a statement this long before we would, so that it says so itself.
STATEMENT_MARGIN_SECONDS = 0.5
MIN_STATEMENT_SECONDS = 0.1


class _Session(Protocol):
    def open_transaction(self, seconds: float, *, reads: bool) -> str: ...
    def run(self, sql: str, parameters: Sequence[Any]) -> StatementResult: ...
    def fetch(self, sql: str, parameters: Sequence[Any], max_rows: int) -> StatementResult: ...
    def commit(self) -> None: ...


type Work = Callable[[_Session], StatementResult]


class Database:
    """A database that an account's key opens; no connection is made before it is asked something."""

    def __init__(self, kind: DatabaseKind, key: str) -> None:
        self._kind = kind
        self._address = parse_address(key, kind)

    def read(self, sql: str, parameters: Sequence[Any] = (), *, limit: int, deadline: float) -> Any:
        """Return the rows of a query; a PartialList where there are more than `limit`, or than MAX_FETCHED_BYTES."""
        found = self._use(sql, deadline, lambda session: session.fetch(sql, parameters, limit + 1), reads=True)
        rows = rows_of(found)
        if not found.is_cut and len(rows) <= limit:
            return rows
        shown = rows[:limit]
        why = f"{MAX_FETCHED_BYTES:,} bytes" if found.is_cut and len(rows) <= limit else f"limit={limit}"
        return PartialList(shown, f"Cut after {len(shown)} rows ({why}): narrow the query, or go on with its OFFSET.")

    def explain(self, sql: str, parameters: Sequence[Any] = (), *, deadline: float) -> Any:
        """Return the plan of a statement, which is not run; `explain analyze` of one that writes is refused."""
        explained = f"explain {sql}"
        return rows_of(self._use(sql, deadline, lambda session: session.run(explained, parameters), reads=True))

    def write(self, sql: str, parameters: Sequence[Any] = (), *, deadline: float) -> dict[str, Any]:
        """Run one statement whole or not at all, and return `{command, affected, rows}`."""

        def carry_out(session: _Session) -> StatementResult:
            may_have_happened = self._kind.commits_unasked
            try:
                done = session.run(sql, parameters)
                may_have_happened = True
                session.commit()
            except ExchangeFailed as error:
                if not may_have_happened:
                    raise
                raise self._unavailable(str(error)).with_details(may_have_happened=True) from None
            return done

        done = self._use(sql, deadline, carry_out, reads=False)
        return {"command": done.command, "affected": done.affected, "rows": rows_of(done)}

    def _use(self, sql: str, deadline: float, work: Work, *, reads: bool) -> StatementResult:
        """Return the result of the work in one transaction; each failure is a typed error."""
        if "\x00" in sql:
            raise InvalidRequest(field="sql", problem="it contains a NUL character")
        # Imported late: with it comes the driver.
        log_in = import_module(f"mcpist_services.{self._kind.scheme}.session").log_in
        with self._typed_errors(deadline - time.monotonic()), log_in(self._address, deadline) as session:
            seconds = max(deadline - time.monotonic() - STATEMENT_MARGIN_SECONDS, MIN_STATEMENT_SECONDS)
            if power := session.open_transaction(seconds, reads=reads):
                raise self._reconnect(f"{self._address.user} {power}; connect another role")
            return work(session)

    @contextmanager
    def _typed_errors(self, seconds: float) -> Iterator[None]:
        try:
            yield
        except ServerError as error:
            raise self._refused(error, seconds) from None
        except UntrustedConnection as error:
            raise self._reconnect(error.reason) from None
        except ExchangeTimeout:
            raise self._timeout(seconds) from None
        except ExchangeFailed as error:
            raise self._unavailable(str(error)) from None

    def _refused(self, error: ServerError, seconds: float) -> Exception:
        """Return the error for a refusal of the server, by who must act."""
        problem = error_message(error.message, (self._address.password,))
        match error.cause:
            case "cancelled":
                return self._timeout(seconds)
            case "account":
                return self._reconnect(problem)
            case "temporary":
                return self._unavailable(problem)
            case "read only":
                problem = f"{problem}: what changes something is for write"
        return InvalidRequest(field="sql", problem=problem)

    def _timeout(self, seconds: float) -> Timeout:
        return Timeout(service=self._kind.scheme, seconds=round(seconds, 1))

    def _reconnect(self, problem: str) -> ReconnectRequired:
        service = self._kind.scheme
        return ReconnectRequired(service=service, url=settings().connect_url(service), problem=problem)

    def _unavailable(self, problem: str) -> UpstreamUnavailable:
        return UpstreamUnavailable(service=self._kind.scheme, problem=problem)
