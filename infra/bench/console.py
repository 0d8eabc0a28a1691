"""The console's pages, warm, on the embedded stack: the CPU of the function for an answer, and its size.

The endpoint's list of tools is measured beside them.
"""

import re
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2

from infra.bench.report import BENCHMARKS, keep, measured, table
from infra.local.demo import ADMINISTRATOR
from infra.local.deployment import LocalDeployment, run_local_deployment

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
MAX_MILLISECONDS = 100
MAX_KILOBYTES = 50
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
MCP = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
COLUMNS = ("warm, of an administrator", "CPU of the function, median", "KB as sent, with style and scripts")


def measure() -> None:
    """Print the medians of each page, beside those of the endpoint's list of tools."""
    plenty = {"UserRequests": "60000"}
    with run_local_deployment(parameters=plenty) as deployment, _signed_in(deployment) as web:
        assets = sum(_asset_sizes(web))
        bearer = {**MCP, "authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}
        request = web.build_request("POST", "/mcp", json=LIST_TOOLS, headers=bearer)
        rows = [_row(deployment, web, "`tools/list` at the endpoint", request, 0)]
        rows += [_row(deployment, web, f"`{path}`", web.build_request("GET", path), assets) for path in PAGES]
    goal = f"At most {MAX_MILLISECONDS} ms and {MAX_KILOBYTES} KB for a page."
    text = f"Measured {measured()}. {goal}\n\n{table(COLUMNS, rows)}"
    print(text)
    keep(text, BENCHMARKS, "console")


def _row(
    deployment: LocalDeployment, web: httpx2.Client, name: str, request: httpx2.Request, assets: int
) -> tuple[str, str, str]:
    """Return the measured values of a request, which must succeed."""
    function = "McpEndpointFunction" if request.url.path == "/mcp" else "ConsoleFunction"
    used, size = [], 0
    for _ in range(VISITS + WARM_UPS):
        before = _cpu_milliseconds(deployment, function)
        answer = web.send(request, stream=True)
        size = sum(map(len, answer.iter_raw()))
        answer.close()
        answer.raise_for_status()
        used.append(_cpu_milliseconds(deployment, function) - before)
    return name, f"{statistics.median(used[WARM_UPS:]):.0f} ms", f"{(size + assets) / 1000:.1f}"


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
    with httpx2.Client(base_url=deployment.aws.api_url, headers=headers, timeout=60) as web:
        page = web.get(web.get("/profile").headers["location"]).headers["location"]
        request = parse_qs(urlsplit(page).query)["request"][0]
        landed = web.post(f"{deployment.login.issuer}/login", data={"request": request, "sub": ADMINISTRATOR.sub})
        assert re.match("30[23]", str(web.get(landed.headers["location"]).status_code))
        yield web
