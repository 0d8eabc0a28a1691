"""Rate limits: how long a service wants no further request, and the accounts that wait for that."""

import math
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from mcpist.memory import Clock, on_forget, wall_clock

MAX_COOLDOWN_SECONDS = 3600.0  # a service that names more is asked again after it
MAX_COOLDOWNS = 1_000
# A sleep and the clock may differ by this much.
CLOCK_TOLERANCE_SECONDS = 0.1

type Key = tuple[str, ...]


class Cooldowns:
    """Per service and account: when the next request may be sent; by the wall clock, since sandboxes are frozen."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self._clock = clock
        self._until: dict[Key, float] = {}

    def start(self, key: Key, seconds: float) -> None:
        """Let nothing be sent for some seconds."""
        if len(self._until) >= MAX_COOLDOWNS:
            del self._until[next(iter(self._until))]
        self._until[key] = self._clock() + min(seconds, MAX_COOLDOWN_SECONDS)

    def remaining(self, *keys: Key) -> float:
        """Return the seconds that are left of the longest of these cooldowns; 0 where there is none."""
        left = max(self._until.get(key, 0.0) for key in keys) - self._clock()
        return min(left, MAX_COOLDOWN_SECONDS) if left > CLOCK_TOLERANCE_SECONDS else 0.0

    def clear(self) -> None:
        """Forget all of them."""
        self._until.clear()


cooldowns = Cooldowns()
on_forget(cooldowns.clear)


def is_rate_limit(status: int, headers: Mapping[str, str]) -> bool:
    """Whether a response means a limit: some services answer 403 where 429 is the standard."""
    return status == 429 or (status == 403 and ("retry-after" in headers or _remaining(headers) == "0"))


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds that `Retry-After` names, as a number or as a date; None where there is none."""
    return _seconds(headers.get("retry-after", ""), time.time() if now is None else now)


def rate_limit_reset(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Return the seconds until the limit of the `RateLimit` headers ends; None where another limit was exceeded."""
    if _remaining(headers) not in {"0", ""}:
        return None
    text = headers.get("ratelimit-reset") or headers.get("x-ratelimit-reset", "")
    return _seconds(text, time.time() if now is None else now)


def round_up(seconds: float) -> int:
    """Return whole seconds for an error: never too early."""
    return math.ceil(seconds)


def _remaining(headers: Mapping[str, str]) -> str:
    return headers.get("ratelimit-remaining") or headers.get("x-ratelimit-remaining", "")


def _seconds(text: str, now: float) -> float | None:
    """Read seconds, seconds since 1970, an HTTP date or an ISO date; a moment in the past is no wait."""
    if re.fullmatch(r"[0-9]{1,6}(\.[0-9]+)?", text):
        return float(text)
    if re.fullmatch(r"[0-9]{10}", text):
        return max(0.0, int(text) - now)
    moment = _parse_date(text)
    return None if moment is None else max(0.0, moment - now)


def _parse_date(text: str) -> float | None:
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            date = read(text)
            return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, OverflowError):
            continue
    return None
