"""The soak: MCP clients with pauses, without an error or a growing sandbox for long; then batches under kills."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import quantiles
from typing import Any

from benchmarks import kills
from benchmarks.processes import Change, Held, Sample, Samples, change, sampling
from benchmarks.report import Row, show
from benchmarks.stub_deployment import LARGE_ACCOUNT, run_stub_deployment, say
from infra.local.demo import ORGANIZATION
from infra.local.deployment import LocalDeployment, operating
from infra.local.login import Person
from infra.source import ROOT
from mcpist.caller import Role, Subject
from tests import accounts, members

# With these pauses fifty clients send about two requests a second, which two shared cores can serve. They start one by
# one in the first eighth of the run.
MEAN_PAUSE_SECONDS = 25.0
SAMPLE_SECONDS = 2.0
MAX_MEMORY_GROWTH, MAX_ADDED_HANDLES = 0.02, 3
RUNTIMES = {"AWS's runtime client": False, "small loop": True}
"""By the name of each runtime whether it is the small loop of `infra/local/runtime_loop.py`."""
# Only our functions: moto, in the process of the embedded AWS, keeps all data and grows.
FUNCTIONS = {"McpEndpointFunction": "endpoint", "TokenBrokerFunction": "broker", "StepRunnerFunction": "step runner"}
EMBEDDED_AWS = "embedded AWS"

# The roles of each user. `readers` have only documents; u1 to u3 have accounts of their own.
ROLES = {"readers": ("rag",), "askers": ("rag", "stub"), "both": ("rag", "stub")}
USERS = {f"u{n}": roles for n, roles in enumerate([("readers",), ("askers",), ("both",), ("readers", "askers")] * 3)}


@dataclass(frozen=True)
class SoakRun:
    """The result of a run: the clients' record, and samples of the processes."""

    seen: Mapping[str, Any]
    samples: Samples
    began: float
    ended: float

    @property
    def minutes(self) -> float:
        """The run's minutes."""
        return (self.ended - self.began) / 60

    @property
    def answers(self) -> int:
        """The number of right answers."""
        return sum(map(len, self.seen["milliseconds"].values()))

    def sandboxes(self, function: str) -> list[list[Sample]]:
        """Return the samples of each sandbox of a function."""
        return [samples for name, samples in self.samples.items() if name.rpartition("-")[0] == function]

    def change(self, function: str, held: Held) -> Change | None:
        """Return the change of a resource of a function's sandboxes."""
        return change(self.sandboxes(function), held, self.began, self.ended)


def measure(clients: int, seconds: float, batches: int) -> list[str]:
    """Run all parts, write their tables into docs/benchmarks.md, and return the bounds that were missed.

    A part with no time, or no batches, is left out, and its table stays.
    """
    problems: list[str] = []
    if seconds:
        problems += _measure_runtimes(clients, seconds)
    if batches:
        with run_stub_deployment(LARGE_ACCOUNT) as stub:
            killed = kills.run_under_kills(stub, batches)
        show(kills.rows(killed), "kills")
        problems += killed.problems()
    return problems


def _measure_runtimes(clients: int, seconds: float) -> list[str]:
    """Soak sandboxes of both runtimes, one after the other, since moto has one state in a process.

    The first is what is deployed. The C++ part of AWS's client leaves more and more of the heap unused, which would
    hide a leak of ours: so only memory under the small loop has a bound.
    """
    found: list[Row] = []
    problems: list[str] = []
    for runtime, small_loop in RUNTIMES.items():
        with run_stub_deployment(LARGE_ACCOUNT, small_loop=small_loop) as stub:
            people = seed_users(stub.deployment)
            say(f"{clients} clients for {seconds / 60:.1f} minutes under {runtime}")
            run = soak(stub.deployment, people, clients, seconds)
        found += [(f"{runtime}: {what}", *rest) for what, *rest in rows(run, bounds_memory=small_loop)]
        problems += [f"{runtime}: {problem}" for problem in (*errors(run), *growths(run, bounds_memory=small_loop))]
    show(found, "soak", f": {clients} clients, {seconds / 60:.1f} minutes under each runtime")
    return problems


def seed_users(deployment: LocalDeployment) -> list[dict[str, str]]:
    """Create users with roles and accounts; return each one's token and the account that must answer."""
    with operating(deployment.aws):
        for name, modules in ROLES.items():
            members.put_role(ORGANIZATION, Role(name, modules=modules))
        for user, roles in USERS.items():
            subject = Subject(deployment.login.issuer, user)
            members.put_user(ORGANIZATION, user, name=user, subject=subject, roles=roles)
    owned = {f"role#{role}" for role in ("askers", "both")} | {f"user#u{n}" for n in (1, 2, 3)}
    for owner in owned:
        accounts.connect(deployment, "stub", f"account-of-{owner.partition('#')[2]}", owner=owner)
    return [
        {"token": deployment.token(Person(user, user, "", "user")), "account": _account(user, owned)} for user in USERS
    ]


def soak(
    deployment: LocalDeployment,
    people: list[dict[str, str]],
    clients: int,
    seconds: float,
    pause_seconds: float = MEAN_PAUSE_SECONDS,
) -> SoakRun:
    """Run the clients in a process of their own, and sample ours meanwhile."""
    job = {"url": deployment.mcp_url, "people": people, "clients": clients}
    job |= {"seconds": seconds, "pause_seconds": pause_seconds, "arrival_seconds": seconds / 8}
    command = [sys.executable, "-m", "benchmarks.clients"]
    began = time.monotonic()
    with sampling(lambda: _pids(deployment), SAMPLE_SECONDS) as samples:
        done = subprocess.run(command, cwd=ROOT, input=json.dumps(job), stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return SoakRun(json.loads(done.stdout), samples, began, time.monotonic())


def rows(run: SoakRun, *, bounds_memory: bool = True) -> Iterator[Row]:
    """Yield the rows: answers and times, then the sandboxes' resources."""
    yield "answers, each checked", f"{run.answers:,}, {run.answers / run.minutes / 60:.1f} a second", ""
    yield "errors", _counted(run.seen["errors"]), "none"
    for kind, times in sorted(run.seen["milliseconds"].items()):
        cuts = quantiles(times, n=100, method="inclusive")
        spread = f"{cuts[49]:.0f}, {cuts[94]:.0f}, {cuts[98]:.0f} ms"
        yield f"`{kind}`: median, 95th and 99th percentile of {len(times):,}", spread, ""
    for function, name in FUNCTIONS.items():
        memory, files, threads = (run.change(function, held) for held in ("memory_kb", "files", "threads"))
        if memory and files and threads:
            largest = f"the largest of {len(run.sandboxes(function))} sandboxes of the {name}, second and last quarter"
            bound = f"{MAX_MEMORY_GROWTH:+.0%}" if bounds_memory else ""
            yield f"memory of {largest}", f"{_megabytes(memory)} ({memory.growth:+.1%})", bound
            yield f"open files and threads, {largest}", f"{files}, {threads}", f"+{MAX_ADDED_HANDLES}"
    aws = [one.memory_kb / 1024 for one in run.samples[EMBEDDED_AWS]]
    yield (
        "memory of the embedded AWS's process, in which moto keeps all data",
        f"{aws[0]:.0f} MB to {aws[-1]:.0f} MB",
        "",
    )


def errors(run: SoakRun) -> Iterator[str]:
    """Yield the clients' errors."""
    for code, count in run.seen["errors"].items():
        yield f"{code}, {count} times: {run.seen['examples'][code]}"


def growths(run: SoakRun, *, bounds_memory: bool = True) -> Iterator[str]:
    """Yield the functions whose sandboxes grow, or for which no sandbox was sampled."""
    for function, name in FUNCTIONS.items():
        memory, files, threads = (run.change(function, held) for held in ("memory_kb", "files", "threads"))
        if not (memory and files and threads):
            yield f"no sandbox of the {name} lived in both quarters"
            continue
        if bounds_memory and memory.growth > MAX_MEMORY_GROWTH:
            yield f"the memory of the {name} grows"
        if files.after > files.before + MAX_ADDED_HANDLES:
            yield f"the open files of the {name} grow"
        if threads.after > threads.before + MAX_ADDED_HANDLES:
            yield f"the threads of the {name} grow"


def _account(user: str, owned: set[str]) -> str:
    """Return the account that acts for a user: the user's own, else the first role's, else an empty text."""
    names = [f"user#{user}", *(f"role#{role}" for role in USERS[user])]
    if "stub" not in {module for role in USERS[user] for module in ROLES[role]}:
        return ""
    return next((f"account-of-{name.partition('#')[2]}" for name in names if name in owned), "")


def _pids(deployment: LocalDeployment) -> dict[str, int]:
    """Return the process ids of the live sandboxes, by their ids, and of this process."""
    live = [sandbox for function in FUNCTIONS for sandbox in deployment.aws.functions[function].sandboxes]
    return {EMBEDDED_AWS: os.getpid()} | {one.id: one.pid for one in live if one.pid is not None}


def _megabytes(change: Change) -> str:
    return f"{change.before / 1024:.1f} to {change.after / 1024:.1f} MB"


def _counted(errors: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {code}" for code, count in errors.items()) or "none"
