"""The console's pages, warm, on the embedded stack: the time to the first byte, and the function's own time."""

import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import httpx2

from infra.bench.report import table
from infra.local.deployment import ADMINISTRATOR, LocalDeployment, run_local_deployment

PAGES = ("/", "/connect", "/profile", "/tools", "/batches", "/logs", "/users", "/roles")
VISITS = 15
MAX_MILLISECONDS = 100


def measure() -> None:
    """Print the medians of each page, beside those of the endpoint's own metadata."""
    with run_local_deployment() as deployment, _signed_in(deployment) as web:
        rows = [_row(web, path) for path in ("/.well-known/oauth-protected-resource/mcp", *PAGES)]
    print(table(("page, warm, of an administrator", "first byte, median", "at most", "KB as sent"), rows))


def _row(web: httpx2.Client, path: str) -> tuple[str, str, str, str]:
    times, size = [], 0
    for number in range(VISITS + 2):  # the first two start sandboxes and fill caches
        began = time.perf_counter()
        with web.stream("GET", path) as answer:
            if number > 1:
                times.append((time.perf_counter() - began) * 1000)
            size = sum(map(len, answer.iter_raw()))
        if answer.status_code != 200:
            return path, f"answered {answer.status_code}", "", ""
    return path, f"{statistics.median(times):.0f} ms", f"{MAX_MILLISECONDS} ms", f"{size / 1000:.1f}"


@contextmanager
def _signed_in(deployment: LocalDeployment) -> Iterator[httpx2.Client]:
    """Yield a client with the cookies of an administrator's browser."""
    headers = {"accept": "text/html", "accept-encoding": "gzip", "origin": deployment.aws.api_url}
    with httpx2.Client(base_url=deployment.aws.api_url, headers=headers, timeout=60) as web:
        page = web.get(web.get("/profile").headers["location"]).headers["location"]
        request = parse_qs(urlsplit(page).query)["request"][0]
        landed = web.post(f"{deployment.login.issuer}/login", data={"request": request, "sub": ADMINISTRATOR.sub})
        assert re.match("30[23]", str(web.get(landed.headers["location"]).status_code))
        yield web
