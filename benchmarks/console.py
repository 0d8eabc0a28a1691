"""The console's pages, warm, on the embedded stack: the CPU of the function for an answer, its size and AWS requests.

The endpoint's list of tools is measured beside them.
"""

import re
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx2

from benchmarks.report import BENCHMARKS, keep, measured, table
from infra.local.demo import ADMINISTRATOR
from infra.local.deployment import DeploymentOptions, LocalDeployment, run_local_deployment

PAGES = (
    "/",
    "/connect",
    "/connect/github",
    "/profile",
    "/tools",
    "/tools?q=search+issues",
    "/tools?tool=rag.search_docs",
    "/batches",
    "/files",
    "/logs",
    "/modules",
    "/users",
    "/users?id=uma",
    "/roles",
    "/roles?id=members",
    "/roles?id=members&module=github",
)
VISITS = 15
WARM_UPS = 2
PLENTY = {"UserRequests": "60000"}
MAX_MILLISECONDS = 100
MAX_KILOBYTES = 50
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MCP = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
COLUMNS = ("warm, of an administrator", "CPU of the function, median", "KB as sent, with style and scripts")


@dataclass(frozen=True, slots=True)
class Visited:
    """The cost of a warm page."""

    milliseconds: float
    """The CPU of its function, the median."""
    size: int
    """Its bytes as sent."""
    answers: bool
    """Whether it is a page, and not an error."""
    seconds: float
    """Until its first byte, the median."""


def measure() -> None:
    """Print the medians of each page, beside those of the endpoint's list of tools."""
    with run_local_deployment(DeploymentOptions(parameters=PLENTY)) as deployment, signed_in(deployment) as web:
        assets = sum(asset_sizes(web))
        bearer = {**MCP, "authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}
        listing = web.build_request("POST", "/mcp", json=LIST_TOOLS, headers=bearer)
        visited = [("`tools/list` at the endpoint", visit(deployment, web, listing, VISITS), 0)]
        visited += [
            (f"`{path}`", visit(deployment, web, web.build_request("GET", path), VISITS), assets) for path in PAGES
        ]
        rows = [(name, f"{one.milliseconds:.0f} ms", f"{(one.size + more) / 1000:.1f}") for name, one, more in visited]
        goal = f"At most {MAX_MILLISECONDS} ms and {MAX_KILOBYTES} KB for a page."
        text = f"Measured {measured()}. {goal}\n\n{table(COLUMNS, rows)}"
        print(text)
        keep(text, BENCHMARKS, "console")


def visit(deployment: LocalDeployment, web: httpx2.Client, request: httpx2.Request, visits: int) -> Visited:
    """Return the medians of a request that is sent some times."""
    path = request.url.path
    door = {"/mcp": "McpEndpointFunction"}.get(
        path, "RestApiFunction" if path.startswith("/v1/") else "ConsoleFunction"
    )
    used, seconds, size, answers = [], [], 0, True
    for _ in range(visits + WARM_UPS):
        before, started = _cpu_milliseconds(deployment, door), time.perf_counter()
        answer = web.send(request, stream=True)
        seconds.append(time.perf_counter() - started)
        size = sum(map(len, answer.iter_raw()))
        answer.close()
        answers = answers and answer.status_code < HTTPStatus.BAD_REQUEST
        used.append(_cpu_milliseconds(deployment, door) - before)
    return Visited(statistics.median(used[WARM_UPS:]), size, answers, statistics.median(seconds[WARM_UPS:]))


def _cpu_milliseconds(deployment: LocalDeployment, function: str) -> float:
    """Return the CPU that the live sandboxes of a function have used."""
    pids = [sandbox.pid for sandbox in deployment.aws.functions[function].sandboxes if sandbox.pid]
    threads = [path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(path.read_text("ascii").split()[0]) for path in threads) / 1e6


def asset_sizes(web: httpx2.Client) -> Iterator[int]:
    """Yield the sizes of the styles, scripts and icons of the first page, as they are sent."""
    for path in re.findall(r'(?:href|src)="(/assets/[^"]+)"', web.get("/").text):
        with web.stream("GET", path) as answer:
            yield sum(map(len, answer.iter_raw()))


@contextmanager
def signed_in(deployment: LocalDeployment) -> Iterator[httpx2.Client]:
    """Yield a client with the cookies of an administrator's browser."""
    headers = {"accept": "text/html", "accept-encoding": "gzip", "origin": deployment.aws.api_url}
    with httpx2.Client(base_url=deployment.aws.api_url, headers=headers, timeout=300) as web:
        page = web.get("/profile", follow_redirects=True)
        landed = web.post(str(page.url), data={"sub": ADMINISTRATOR.sub}, follow_redirects=True)
        assert landed.url.path == "/profile", landed.url
        yield web
