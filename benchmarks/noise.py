"""The noise test: a thousand hostile requests of one user at once, and what another organization waits meanwhile."""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from statistics import quantiles
from typing import Any
from urllib.parse import urlsplit

import httpx2

from benchmarks.report import Row, show
from benchmarks.stub_deployment import run_stub_deployment, say
from infra.local.demo import USER
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from infra.source import ROOT
from mcpist.caller import Role, Subject
from tests import accounts, members

REQUESTS = 1_000
MAX_SECONDS = 90.0  # until the last hostile request is given up
QUIET_SAMPLES, MAX_SAMPLES, PAUSE_SECONDS = 200, 1_500, 0.05
MAX_RATIO = 2.0
NEIGHBOURS = "neighbours"
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25"}
QUICK_TOOLS: tuple[Mapping[str, Any], ...] = (
    {"name": "call", "arguments": {"module": "rag", "tool": "list_tags"}},
    {"name": "get_module_schema", "arguments": {"modules": ["rag"]}},
)
LONG_QUESTION = " ".join(f"word{number}" for number in range(250))


def measure(requests: int = REQUESTS) -> list[str]:
    """Measure, write the table into docs/benchmarks.md, and return the bound that was missed, if one was."""
    with run_stub_deployment() as stub:
        neighbour = Neighbour(stub.deployment.mcp_url, _admit_neighbour(stub.deployment))
        accounts.connect(stub.deployment, "stub", "stub-token")
        neighbour.sample(lambda taken: taken == QUIET_SAMPLES // 4)  # warms its sandbox
        say(f"quiet: {QUIET_SAMPLES} requests of the neighbour")
        quiet = neighbour.sample(lambda taken: taken == QUIET_SAMPLES)
        say(f"noise: {requests} requests at once")
        with _flood(stub.deployment, requests) as flood:
            noisy = neighbour.sample(lambda taken: taken == MAX_SAMPLES or flood.poll() is not None)
            outcomes = json.loads(flood.communicate()[0].splitlines()[-1])
        quiet += neighbour.sample(
            lambda taken: taken == QUIET_SAMPLES
        )  # since other work on the machine comes and goes
    show(rows(requests, quiet, noisy, outcomes), "noise")
    goal = verdict(quiet, noisy, neighbour.errors)
    print(goal)
    return [] if goal.startswith("pass") else [goal]


@dataclass
class Neighbour:
    """A user of another organization, who sends one small request after the other."""

    url: str
    token: str
    tools: Sequence[Mapping[str, Any]] = QUICK_TOOLS
    """The uses of meta-tools that follow a list of tools, over and over."""
    errors: Counter[int] = field(default_factory=Counter)
    pause_seconds: float = PAUSE_SECONDS
    """Between a response and the next request."""

    def sample(self, ended: Callable[[int], bool]) -> list[float]:
        """Return the milliseconds of requests, until `ended` says so of their number."""
        milliseconds: list[float] = []
        with httpx2.Client(headers=HEADERS | {"authorization": f"Bearer {self.token}"}, timeout=60) as client:
            for taken in count():
                if ended(taken):
                    return milliseconds
                started = time.perf_counter()
                response = self.send(client, taken)
                milliseconds.append((time.perf_counter() - started) * 1000)
                if response.status_code not in {200, 204} or (response.content and "error" in response.json()):
                    self.errors[response.status_code] += 1
                time.sleep(self.pause_seconds)
        raise AssertionError

    def send(self, client: httpx2.Client, number: int) -> httpx2.Response:
        """Send the request of this number."""
        messages = [_message("tools/list", {}), *(_message("tools/call", tool) for tool in self.tools)]
        return client.post(self.url, json=messages[number % len(messages)])


def hostile(token: str, number: int) -> Iterator[dict[str, Any]]:
    """Yield requests of one user: slow calls, bodies of a megabyte, tokens that are refused, and heavy searches."""
    slow = _call("call", {"module": "stub", "tool": "ask_slowly"})
    search = _call("call", {"module": "rag", "tool": "search_docs", "params": {"query": LONG_QUESTION}})
    find = _call("get_module_schema", {"query": LONG_QUESTION})
    bearer = f"Bearer {token}"
    kinds: tuple[dict[str, Any], ...] = (
        {"body": json.dumps(_message("tools/call", slow)), "authorization": bearer, "pad": 0},
        {"body": json.dumps(_message("tools/call", search)), "authorization": bearer, "pad": 990_000},
        {"body": json.dumps(_message("tools/list", {})), "authorization": f"{bearer}x", "pad": 0},
        {"body": json.dumps(_message("tools/call", find)), "authorization": bearer, "pad": 0},
        {"body": "", "authorization": bearer, "pad": 1_100_000},
    )
    for position in range(number):
        yield kinds[position % len(kinds)] | {"path": "/mcp"}


def rows(number: int, quiet: list[float], noisy: list[float], outcomes: Mapping[str, int]) -> Iterator[Row]:
    """Yield the rows of the table."""
    answers = ", ".join(f"{amount} x {status}" for status, amount in sorted(outcomes.items()))
    yield f"{number:,} hostile requests of one user at once: how they ended", answers, ""
    yield f"95th percentile of another organization's requests, quiet ({len(quiet)})", f"{p95(quiet):.0f} ms", ""
    seen = f"{p95(noisy):.0f} ms ({p95(noisy) / p95(quiet):.2f} x)"
    yield f"the same while the hostile ones last ({len(noisy)})", seen, f"{MAX_RATIO:g} x"
    yield "the slowest of them", f"{max(noisy):.0f} ms", ""


def verdict(quiet: list[float], noisy: list[float], errors: Mapping[int, int]) -> str:
    """Return the line that says whether the goal is met: the neighbour's bound, and none of its requests refused."""
    ratio = p95(noisy) / p95(quiet)
    met = ratio <= MAX_RATIO and not errors
    refused = f", {sum(errors.values())} of its requests failed: {dict(errors)}" if errors else ""
    seen = f"another organization's 95th percentile is {ratio:.2f} x its quiet value, at most {MAX_RATIO:g} x"
    return f"{'pass' if met else 'miss'}: {seen}{refused}"


def p95(milliseconds: list[float]) -> float:
    """Return the 95th percentile."""
    return quantiles(milliseconds, n=20, method="inclusive")[-1]


def _flood(deployment: LocalDeployment, number: int) -> "subprocess.Popen[str]":
    """Start the process that sends the hostile requests, and return it."""
    address = urlsplit(deployment.aws.api_url)
    requests = list(hostile(deployment.token(USER), number))
    job = {"host": address.hostname, "port": address.port, "requests": requests, "seconds": MAX_SECONDS}
    command, pipe = [sys.executable, "-m", "benchmarks.flood"], subprocess.PIPE
    flood = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)  # noqa: S603
    assert flood.stdin is not None
    flood.stdin.write(json.dumps(job) + "\n")
    flood.stdin.flush()
    return flood


def _admit_neighbour(deployment: LocalDeployment) -> str:
    """Create another organization with one user, and return the user's token."""
    person = Person("nina", "Nina Neighbour", "", "user")
    with operating(deployment.aws):
        members.put_organization(NEIGHBOURS, name="Neighbours")
        members.put_role(NEIGHBOURS, Role("readers", modules=("rag",)))
        subject = Subject(deployment.login.issuer, person.sub)
        members.put_user(NEIGHBOURS, person.sub, name=person.name, subject=subject, roles=["readers"])
    return deployment.token(person)


def _call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def _message(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
