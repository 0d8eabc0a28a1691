"""A flood: for minutes, an organization's users and vendors send all that they can, and another one waits."""

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx2

from benchmarks.flood import delivery
from benchmarks.noise import MAX_RATIO, NEIGHBOURS, Neighbour, p95
from benchmarks.processes import sampling
from benchmarks.report import Row, show
from benchmarks.stub_deployment import run_stub_deployment, say
from infra.local.demo import ORGANIZATION
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from infra.source import ROOT
from mcpist.caller import Role, Subject
from tests import accounts, members

HOSTILE_USERS, CLIENTS_PER_KIND = 3, 3
HOSTILE_PAUSE_SECONDS = 0.1
OWN_PAUSE_SECONDS = 0.2  # so that a neighbour stays below its own 300 requests a minute
WIDE_STEPS = 60
QUIET_SAMPLES = 100
MAX_THREADS = 1_000
SAMPLE_SECONDS = 0.5
EMBEDDED_AWS = "embedded AWS"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"  # noqa: S105 - of no app
ASK: Mapping[str, Any] = {"module": "stub", "tool": "ask_about", "params": {"name": "a"}}
CALLS = ({"name": "call", "arguments": ASK},)
USES = {"calls": "lists and calls", "batches": "lists and batches", "deliveries": "deliveries from its vendor"}
BATCHES = ({"name": "batch", "arguments": {"commands": [{"id": f"s{number}", **ASK} for number in range(3)]}},)


@dataclass(frozen=True)
class Flood:
    """A flood as it was seen."""

    quiet: Mapping[str, list[float]]
    """The milliseconds of the neighbours' requests before the flood, by the names of USES."""
    noisy: Mapping[str, list[float]]
    """The same meanwhile."""
    outcomes: Mapping[str, int]
    """The statuses of the hostile responses, counted."""
    threads: int
    """The most threads of the process of the embedded AWS."""
    errors: Mapping[int, int]
    """The neighbours' requests that were not answered, by status."""
    steps: int
    """The hostile steps that asked their service."""
    deliveries: tuple[int, int]
    """The neighbour's deliveries that were answered, and those that it can read as events."""


@dataclass
class Receiver(Neighbour):
    """A user whose vendor delivers events."""

    sent: int = 0

    def send(self, client: httpx2.Client, number: int) -> httpx2.Response:  # noqa: ARG002 - each is another one
        """Send a new delivery."""
        body, headers = delivery(SIGNING_SECRET)
        self.sent += 1
        return client.post(self.url, content=body, headers={"authorization": "", **headers})


def measure(seconds: float) -> list[str]:
    """Measure, write the table into docs/benchmarks.md, and return the bounds that were missed."""
    return show(rows(flood(seconds)), "fairness", f": {seconds / 60:g} minutes")


def flood(seconds: float, quiet_samples: int = QUIET_SAMPLES) -> Flood:
    """Run the flood against a deployment as `mcpist up` runs it, whose requests wait their turns."""
    with run_stub_deployment({}, functions=0) as stub:
        deployment = stub.deployment
        hostile = [_admit(deployment, ORGANIZATION, f"h{number}") for number in range(HOSTILE_USERS)]
        hooks = [_begin_source(deployment, token) for token in hostile]
        uses = {"calls": CALLS, "batches": BATCHES}
        with operating(deployment.aws):
            members.put_organization(NEIGHBOURS, name="Neighbours")
        neighbours: dict[str, Neighbour] = {
            name: Neighbour(
                deployment.mcp_url, _admit(deployment, NEIGHBOURS, name), tools, pause_seconds=OWN_PAUSE_SECONDS
            )
            for name, tools in uses.items()
        }
        listening = _admit(deployment, NEIGHBOURS, "listener")
        receiver = Receiver(_begin_source(deployment, listening), listening)
        neighbours["deliveries"] = receiver
        _sample(neighbours, lambda taken: taken == quiet_samples // 5)  # warms their sandboxes
        say(f"quiet: {quiet_samples} requests of each neighbour")
        quiet = _sample(neighbours, lambda taken: taken == quiet_samples)
        say(f"a flood of {seconds:.0f} s")
        with sampling(lambda: {EMBEDDED_AWS: os.getpid()}, SAMPLE_SECONDS) as samples:
            flooding = _start(deployment, hostile, hooks, seconds)
            noisy = _sample(neighbours, lambda _: flooding.poll() is not None)
        outcomes = json.loads(flooding.communicate()[0].splitlines()[-1])
        errors = sum((one.errors for one in neighbours.values()), start=Counter[int]())
        threads = max(sample.threads for sample in samples[EMBEDDED_AWS])
        stored = _count_events(deployment, listening)
        return Flood(quiet, noisy, outcomes, threads, errors, len(stub.service.waited), (receiver.sent, stored))


def rows(seen: Flood) -> Iterator[Row]:
    """Yield the rows of the table."""
    answers = ", ".join(f"{amount:,} x {status}" for status, amount in sorted(seen.outcomes.items()))
    yield f"requests of {HOSTILE_USERS} hostile users: how they ended", answers, ""
    yield "steps of their batches that ran", f"{seen.steps:,}", ""
    for name, quiet in seen.quiet.items():
        noisy = seen.noisy[name]
        yield (
            f"95th percentile of another organization's {USES[name]}, quiet ({len(quiet)})",
            f"{p95(quiet):.0f} ms",
            "",
        )
        ratio = f"{p95(noisy):.0f} ms ({p95(noisy) / p95(quiet):.2f} x)"
        yield f"the same in the flood ({len(noisy)})", ratio, f"{MAX_RATIO:g} x"
    failed = ", ".join(f"{amount} x {status}" for status, amount in seen.errors.items())
    yield "of these refused or failed", failed or "none", "none"
    sent, stored = seen.deliveries
    yield f"its {sent:,} deliveries that it reads as events", f"{stored:,}", f"{sent:,} or more"
    yield f"the most threads of the {EMBEDDED_AWS}", f"{seen.threads:,}", f"{MAX_THREADS}"


def _sample(neighbours: Mapping[str, Neighbour], ended: Callable[[int], bool]) -> dict[str, list[float]]:
    """Let all neighbours send requests at once, and return their milliseconds."""
    with ThreadPoolExecutor(len(neighbours)) as pool:
        running = {name: pool.submit(one.sample, ended) for name, one in neighbours.items()}
        return {name: one.result() for name, one in running.items()}


def _start(deployment: LocalDeployment, tokens: list[str], hooks: list[str], seconds: float) -> "subprocess.Popen[str]":
    """Start the process of the hostile clients, and return it."""
    wide = [
        {"id": f"s{n}", "module": "stub", "tool": "wait", "params": {"step": str(n), "seconds": 1}}
        for n in range(WIDE_STEPS)
    ]
    slow = {"module": "stub", "tool": "ask_slowly"}
    uses: dict[str, dict[str, Any]] = {"batch": {"commands": wide}, "call": slow}
    address = urlsplit(deployment.aws.api_url)
    requests = [
        {"path": "/mcp", "authorization": f"Bearer {token}", "body": json.dumps(_message(name, use)), "pad": 0}
        for token in tokens
        for name, use in uses.items()
        for _ in range(CLIENTS_PER_KIND)
    ]
    deliveries = [{"path": urlsplit(hook).path, "secret": SIGNING_SECRET} for hook in hooks] * CLIENTS_PER_KIND
    job = {"host": address.hostname, "port": address.port, "seconds": seconds, "pause": HOSTILE_PAUSE_SECONDS}
    command, pipe = [sys.executable, "-m", "benchmarks.flood"], subprocess.PIPE
    flooding = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)  # noqa: S603
    assert flooding.stdin is not None
    flooding.stdin.write(json.dumps({**job, "requests": [*requests, *deliveries]}) + "\n")
    flooding.stdin.flush()
    return flooding


def _admit(deployment: LocalDeployment, organization: str, user: str) -> str:
    """Create a user with accounts at the stub's service and at Slack, and return a token of it."""
    with operating(deployment.aws):
        members.put_role(organization, Role("askers", modules=("stub", "slack")))
        subject = Subject(deployment.login.issuer, user)
        members.put_user(organization, user, name=user, subject=subject, system_role="user", roles=["askers"])
    for service in ("stub", "slack"):
        accounts.connect(deployment, service, f"token-of-{user}", owner=f"user#{user}", organization=organization)
    return deployment.token(Person(user, user, "", "user"))


def _message(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}


def _begin_source(deployment: LocalDeployment, token: str) -> str:
    """Begin a source of messages, and return the address to which their vendor delivers them."""
    body = {"type": "slack.messages", "secret": SIGNING_SECRET}
    headers = {"authorization": f"Bearer {token}"}
    begun = httpx2.post(f"{deployment.aws.api_url}/v1/events/sources", json=body, headers=headers, timeout=60).json()
    return str(begun["source"]["url"])


def _count_events(deployment: LocalDeployment, token: str) -> int:
    """Return how many messages a user can read."""
    found, after = 0, "0"
    with httpx2.Client(headers={"authorization": f"Bearer {token}"}, timeout=60) as client:
        while True:
            asked: dict[str, str | int] = {"type": "slack.messages", "after": after, "limit": 100}
            events = client.get(f"{deployment.aws.api_url}/v1/events", params=asked).json()["events"]
            if not events:
                return found
            found, after = found + len(events), events[-1]["cursor"]
