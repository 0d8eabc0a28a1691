"""The context of one request: its caller, its permissions, its id and its deadline."""

import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property

from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.http.bearer import authorize
from mcpist.http.front import Exchange
from mcpist.http.request import HttpRequest
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE


@dataclass(frozen=True)
class RestExchange(Exchange):
    """The values that the functions which answer a request share."""

    request: HttpRequest
    started_at: float = field(default_factory=time.monotonic)
    """On the monotonic clock, in seconds."""

    @cached_property
    def caller(self) -> Caller:
        """The caller that the request's bearer token identifies; raises AuthenticationError."""
        return authorize(self.request)

    @cached_property
    def permissions(self) -> Permissions:
        """The catalogue as the caller may use it."""
        return Permissions(self.caller, CATALOGUE)

    @property
    def elapsed_milliseconds(self) -> int:
        """The time since the request arrived."""
        return round((time.monotonic() - self.started_at) * 1000)


_current: ContextVar[RestExchange] = ContextVar("exchange")


def current() -> RestExchange:
    """Return the exchange that is being answered."""
    return _current.get()


def find_current(request: HttpRequest) -> RestExchange | None:
    """Return the exchange of a request; None if it was refused before one began."""
    exchange = _current.get(None)
    return exchange if exchange and exchange.request.event == request.event else None


def begin(exchange: RestExchange) -> None:
    """Make an exchange the current one, until the next begins."""
    _current.set(exchange)


def timestamp(seconds: float | None = None) -> str:
    """Return a moment, else the present one, in UTC, as answers have it."""
    moment = datetime.fromtimestamp(time.time() if seconds is None else seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def in_utc(moment: datetime) -> datetime:
    """Return a moment in UTC, which is the zone of one that names none."""
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except OverflowError:
        raise InvalidRequest(field="since", problem="it is no moment of the calendar") from None
