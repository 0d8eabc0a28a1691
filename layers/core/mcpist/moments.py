"""Moments in epoch seconds, and as texts of ISO 8601."""

import re
from datetime import UTC, datetime
from typing import Any

MAX_MOMENT = 10**11
"""No event is as late (epoch seconds): it is the year 5138."""
EPOCH_SECONDS = re.compile(r"[0-9]{1,11}")


def epoch_seconds(text: Any) -> int | None:
    """Return a moment of ISO 8601 in epoch seconds, in UTC where it names no zone; None for anything else."""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())


def utc_text(seconds: float) -> str:
    """Return a moment in UTC, e.g. 2026-01-31T09:00:00Z."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
