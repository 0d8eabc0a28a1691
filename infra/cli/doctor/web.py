"""What a deployment's own addresses answer."""

from typing import Any

import httpx2

PROBE_TIMEOUT_SECONDS = 10


def ask(method: str, url: str, **more: Any) -> httpx2.Response:
    """An answer, whatever its status; no redirect is followed."""
    return httpx2.request(method, url, timeout=PROBE_TIMEOUT_SECONDS, **more)


def document(url: str) -> dict[str, Any] | None:
    """The JSON object at an address; None where there is none."""
    answer = ask("GET", url)
    try:
        found = answer.json() if answer.status_code == httpx2.codes.OK else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
