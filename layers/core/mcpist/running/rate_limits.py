"""Services' limits: how long each asks to be left alone, and who is waiting for that."""

import math
import re
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from mcpist.running.error_messages import error_message, google_reasons

MAX_COOLDOWN_SECONDS = 3600.0  # GitHub's window; whoever says more is asked again after it
MAX_COOLDOWNS = 1_000
# A sleep and the clock may differ by this much.
CLOCK_TOLERANCE_SECONDS = 0.1

_GOOGLE_LIMITS = {"dailyLimitExceeded", "quotaExceeded", "rateLimitExceeded", "userRateLimitExceeded"}

type Key = tuple[str, ...]


class Cooldowns:
    """Until when whom is not to be asked, as the services said; by the wall clock, since sandboxes are frozen."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._until: dict[Key, float] = {}

    def start(self, key: Key, seconds: float) -> None:
        """Remember that nothing is to be sent for some seconds."""
        if len(self._until) >= MAX_COOLDOWNS:
            del self._until[next(iter(self._until))]
        self._until[key] = self._clock() + min(seconds, MAX_COOLDOWN_SECONDS)

    def remaining(self, *keys: Key) -> float:
        """The seconds that are left of the longest of these cooldowns; 0 where none is."""
        left = max(self._until.get(key, 0.0) for key in keys) - self._clock()
        return min(left, MAX_COOLDOWN_SECONDS) if left > CLOCK_TOLERANCE_SECONDS else 0.0

    def clear(self) -> None:
        """Forget all of them."""
        self._until.clear()


cooldowns = Cooldowns()


def is_limit(status: int, headers: Mapping[str, str], found: Any) -> bool:
    """Whether a refusal means a limit: some say so by 403, GitHub in headers or words, Google by a reason."""
    if status != 403:
        return status == 429
    said = "retry-after" in headers or _remaining(headers) == "0" or _GOOGLE_LIMITS & google_reasons(found)
    return bool(said) or "secondary rate limit" in error_message(found)


def retry_after(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds that `Retry-After` names, as a number or as a date; None where there is none."""
    return _seconds(headers.get("retry-after", ""), time.time() if now is None else now)


def rate_limit_reset(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """The seconds until a limit is lifted, as GitHub and Atlassian say it; None where the limit is another one."""
    if _remaining(headers) not in {"0", ""}:
        return None
    text = headers.get("ratelimit-reset") or headers.get("x-ratelimit-reset", "")
    return _seconds(text, time.time() if now is None else now)


def round_up(seconds: float) -> int:
    """As an error says it: never too early."""
    return math.ceil(seconds)


def _remaining(headers: Mapping[str, str]) -> str:
    return headers.get("ratelimit-remaining") or headers.get("x-ratelimit-remaining", "")


def _seconds(text: str, now: float) -> float | None:
    """From seconds, seconds since 1970, an HTTP date or an ISO one; a moment that is past is no wait."""
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
