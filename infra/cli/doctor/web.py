"""Requests to a deployment's own URLs."""

from typing import Any

import httpx2

PROBE_TIMEOUT_SECONDS = 10


def ask(method: str, url: str, **more: Any) -> httpx2.Response:
    """Return a response of any status; redirects are not followed."""
    return httpx2.request(method, url, timeout=PROBE_TIMEOUT_SECONDS, **more)


def document(url: str) -> dict[str, Any] | None:
    """Return the JSON object at a URL, or None."""
    response = ask("GET", url)
    try:
        found = response.json() if response.status_code == httpx2.codes.OK else None
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
