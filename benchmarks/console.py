"""The console's pages, warm, on the embedded stack: the CPU of the function for an answer, its size and AWS requests.

The endpoint's list of tools is measured beside them. With `large`, the same pages of a large organization are too.
"""

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx2

from benchmarks import large as large_organization
from benchmarks.large import Size
from benchmarks.report import BENCHMARKS, keep, measured, table
from infra.local.demo import ADMINISTRATOR, ORGANIZATION
from infra.local.deployment import DeploymentOptions, LocalDeployment, operating, run_local_deployment
from mcpist.caller import Subject
from tests.traffic import traffic_of

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
LARGE = Size(users=1_000, roles=200, apis=20, tools_per_api=250, rows=100_000)
LARGE_PAGES = (
    *PAGES,
    "/tools?module=api0",
    "/users?q=user09",
    "/roles?id=members&tab=users",
    "/roles?id=members&module=api0",
    "/modules?id=api0",
    "/logs?user=uma&outcome=failed",
    "/logs?text=nothing+has+it",
)
VISITS, LARGE_VISITS = 15, 5
WARM_UPS = 2
MAX_MILLISECONDS = 100
MAX_KILOBYTES = 50
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MCP = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
COLUMNS = ("warm, of an administrator", "CPU of the function, median", "KB as sent, with style and scripts")
LARGE_COLUMNS = (*COLUMNS, "AWS requests", "of the small one")


@dataclass(frozen=True, slots=True)
class Visited:
    """The cost of a warm page."""

    milliseconds: float
    """The CPU of its function, the median."""
    size: int
    """Its bytes as sent."""
    answers: bool
    """Whether it is a page, and not an error of a store that is too slow."""
    requests: int
    """The median of the function's requests to AWS, the broker's among them."""


def measure(*, large: bool = False) -> None:
    """Print the medians of each page, beside those of the endpoint's list of tools."""
    plenty = {"UserRequests": "60000"}
    with run_local_deployment(DeploymentOptions(parameters=plenty)) as deployment, _signed_in(deployment) as web:
        assets = sum(_asset_sizes(web))
        bearer = {**MCP, "authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}
        listing = web.build_request("POST", "/mcp", json=LIST_TOOLS, headers=bearer)
        rows = [("`tools/list` at the endpoint", *_cells(_visit(deployment, web, listing, VISITS), 0))]
        small = {path: _visit(deployment, web, web.build_request("GET", path), VISITS) for path in PAGES}
        rows += [(f"`{path}`", *_cells(visited, assets)) for path, visited in small.items()]
        _report("console", COLUMNS, rows, f"At most {MAX_MILLISECONDS} ms and {MAX_KILOBYTES} KB for a page.")
        if large:
            _measure_large(deployment, web, assets)


def _measure_large(deployment: LocalDeployment, web: httpx2.Client, assets: int) -> None:
    """Print the same of a large organization, with the requests to AWS beside those of the small one."""
    small = {path: _visit(deployment, web, web.build_request("GET", path), 1) for path in LARGE_PAGES}
    with operating(deployment.aws):
        large_organization.grow(ORGANIZATION, Subject(deployment.login.issuer, ADMINISTRATOR.sub), LARGE)
    rows = []
    for path in LARGE_PAGES:
        visited = _visit(deployment, web, web.build_request("GET", path), LARGE_VISITS)
        rows.append((f"`{path}`", *_cells(visited, assets), str(visited.requests), str(small[path].requests)))
    tools = LARGE.apis * LARGE.tools_per_api
    what = f"{LARGE.users:,} users, {LARGE.roles} roles, {tools:,} imported tools and {LARGE.rows:,} rows of the audit."
    _report("console-large", LARGE_COLUMNS, rows, what)


def _report(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]], goal: str) -> None:
    text = f"Measured {measured()}. {goal}\n\n{table(columns, rows)}"
    print(text)
    keep(text, BENCHMARKS, name)


def _cells(visited: Visited, assets: int) -> tuple[str, str]:
    if not visited.answers:
        return "no answer", ""
    return f"{visited.milliseconds:.0f} ms", f"{(visited.size + assets) / 1000:.1f}"


def _visit(deployment: LocalDeployment, web: httpx2.Client, request: httpx2.Request, visits: int) -> Visited:
    """Return the medians of a request that is sent some times; a page of the large organization may be no page yet."""
    function = "McpEndpointFunction" if request.url.path == "/mcp" else "ConsoleFunction"
    used, asked, size, answers = [], [], 0, True
    for _ in range(visits + WARM_UPS):
        before = _cpu_milliseconds(deployment, function)
        traffic_of(deployment.aws).requests.clear()
        answer = web.send(request, stream=True)
        size = sum(map(len, answer.iter_raw()))
        answer.close()
        answers = answers and answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
        used.append(_cpu_milliseconds(deployment, function) - before)
        asked.append(Counter(one.function for one in traffic_of(deployment.aws).requests)[function])
    return Visited(statistics.median(used[WARM_UPS:]), size, answers, round(statistics.median(asked[WARM_UPS:])))


def _cpu_milliseconds(deployment: LocalDeployment, function: str) -> float:
    """Return the CPU that the live sandboxes of a function have used."""
    pids = [sandbox.pid for sandbox in deployment.aws.functions[function].sandboxes if sandbox.pid]
    threads = [path for pid in pids for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    return sum(int(path.read_text("ascii").split()[0]) for path in threads) / 1e6


def _asset_sizes(web: httpx2.Client) -> Iterator[int]:
    """Yield the sizes of the styles, scripts and icons of the first page, as they are sent."""
    for path in re.findall(r'(?:href|src)="(/assets/[^"]+)"', web.get("/").text):
        with web.stream("GET", path) as answer:
            yield sum(map(len, answer.iter_raw()))


@contextmanager
def _signed_in(deployment: LocalDeployment) -> Iterator[httpx2.Client]:
    """Yield a client with the cookies of an administrator's browser."""
    headers = {"accept": "text/html", "accept-encoding": "gzip", "origin": deployment.aws.api_url}
    with httpx2.Client(base_url=deployment.aws.api_url, headers=headers, timeout=300) as web:
        page = web.get("/profile", follow_redirects=True)
        landed = web.post(str(page.url), data={"sub": ADMINISTRATOR.sub}, follow_redirects=True)
        assert landed.url.path == "/profile", landed.url
        yield web
