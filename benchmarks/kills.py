"""Many batches while a sandbox is killed every second: none is lost, and no write happens twice."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from benchmarks.report import Row
from benchmarks.stub_deployment import StubDeployment, say
from infra.cli.document import CommandError
from infra.cli.endpoint import Endpoint
from infra.local.demo import ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment, operating
from mcpist.batch.ledger import ledger
from mcpist.people import directory
from tests import accounts, members

KILLED = ("StepRunnerFunction", "TokenBrokerFunction")
"""Not the endpoint: its client would not learn which batch it started."""
PARALLEL_BATCHES = 6
MAX_SUBMISSIONS = 5
MAX_BATCH_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Write:
    """One step that writes: what the batch says of it, and how often the service was asked."""

    name: str
    status: str
    times: int


@dataclass(frozen=True)
class KillRun:
    """The result of a run."""

    batches: int
    kills: int
    """The sandboxes that were killed while they worked."""
    seconds: float
    writes: tuple[Write, ...]
    errors: tuple[str, ...]
    """The batches that could not be started or did not end."""

    @property
    def statuses(self) -> Counter[str]:
        """The number of writes by their status."""
        return Counter(write.status for write in self.writes)

    def problems(self) -> Iterator[str]:
        """Yield what must not happen: a lost batch or step, a second write, an ending that is not true."""
        yield from self.errors
        for write in self.writes:
            allowed = {"succeeded": {1}, "unknown": {0, 1}, "failed": {0}, "skipped": {0}}.get(write.status, set())
            if write.times not in allowed:
                yield f"{write.name} is {write.status or 'open'}, and happened {write.times} times"


@dataclass
class _Killer:
    """Kills one busy sandbox a second until it is stopped."""

    deployment: LocalDeployment
    kills: int = 0
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        dice = random.Random(1)  # noqa: S311 - no secret
        while not self.stopped.wait(1.0):
            pools = [self.deployment.aws.functions[name] for name in KILLED]
            busy = [sandbox for pool in pools for sandbox in pool.sandboxes if sandbox.current]
            if busy:
                self.deployment.aws.kill(dice.choice(busy).id)
                self.kills += 1


def run_under_kills(stub: StubDeployment, batches: int) -> KillRun:
    """Run batches, several at once, and compare what the ledger says with what the stub's service was asked."""
    deployment = stub.deployment
    _permit_writes(deployment)
    accounts.connect(deployment, "stub", "stub-token")
    endpoint = Endpoint.at(deployment.mcp_url, deployment.token(USER))
    began = time.monotonic()
    ids: dict[int, str] = {}
    errors: list[str] = []

    def run(number: int) -> None:
        try:
            ids[number] = _run_batch(endpoint, number)
        except (CommandError, TimeoutError) as error:
            errors.append(f"batch {number}: {error}")
        if number % 50 == 0:
            say(f"batch {number} of {batches}, after {time.monotonic() - began:.0f} s")

    with _killing(deployment) as killer, ThreadPoolExecutor(PARALLEL_BATCHES) as workers:
        list(workers.map(run, range(batches)))
    seconds = time.monotonic() - began
    noted = Counter(stub.service.noted)
    with operating(deployment.aws):
        writes = [write for number, batch in ids.items() for write in _writes(number, batch, noted)]
    known = {write.name for write in writes}
    strange = tuple(f"{name} of no known batch happened" for name in noted if name not in known)
    return KillRun(batches, killer.kills, seconds, tuple(writes), (*errors, *strange))


def rows(run: KillRun) -> Iterator[Row]:
    """Yield the rows of a run."""
    batches = f"{run.batches:,} batches of four steps, two of which write"
    yield f"{batches}; sandboxes killed while they worked", f"{run.kills:,} in {run.seconds / 60:.1f} minutes", ""
    yield "batches or steps that were lost", str(len(run.errors) + run.statuses[""]), "none"
    twice = sum(write.times > 1 for write in run.writes)
    yield f"writes that happened twice, of {len(run.writes):,}", str(twice), "none"
    unknown = [write for write in run.writes if write.status == "unknown"]
    happened = sum(write.times for write in unknown)
    yield "writes that say they are in doubt, and how many of them had happened", f"{len(unknown)}, {happened}", ""
    ended = ", ".join(f"{count:,} {status}" for status, count in run.statuses.most_common())
    yield "how the writes ended", ended, ""


def commands(number: int, submission: int) -> list[dict[str, object]]:
    """Return the steps of a batch: a read, a write after it, a write after that, and a read beside them."""
    read: dict[str, object] = {"module": "stub", "tool": "ask"}
    steps = [{**read, "id": "look"}, {**read, "id": "beside"}]
    for name, after in (("first", "look"), ("second", "first")):
        params = {"name": note_name(number, submission, name)}
        steps.append({"id": name, "module": "stub", "tool": "note", "params": params, "after": [after]})
    return steps


def note_name(number: int, submission: int, step: str) -> str:
    """Return what a step notes at the service."""
    return f"{number}.{submission}.{step}"


def _run_batch(endpoint: Endpoint, number: int) -> str:
    """Run a batch to its end, and return its id and the number of its submission.

    A batch is not started where the broker was killed that would have permitted it: then it is sent again.
    """
    for submission in range(MAX_SUBMISSIONS):
        try:
            summary = endpoint.call("batch", {"commands": commands(number, submission)}).texts[0]
            break
        except CommandError:
            if submission == MAX_SUBMISSIONS - 1:
                raise
            time.sleep(1)
    batch = summary.split()[1].rstrip(":")
    until = time.monotonic() + MAX_BATCH_SECONDS
    while ": running," in summary:
        if time.monotonic() > until:
            raise TimeoutError(summary)
        summary = endpoint.call("batch", {"batch_id": batch}).texts[0]
    return f"{batch}#{submission}"


def _writes(number: int, found: str, noted: Mapping[str, int]) -> Iterator[Write]:
    """Yield the writes of a batch as the ledger has them."""
    batch, _, submission = found.partition("#")
    head = ledger.get_header(ledger.partition_key(ORGANIZATION, batch))
    for step in ("first", "second"):
        name = note_name(number, int(submission), step)
        yield Write(name, head.outcome.get(head.ids.index(step), ""), noted.get(name, 0))


@contextmanager
def _killing(deployment: LocalDeployment) -> Iterator[_Killer]:
    killer = _Killer(deployment)
    thread = threading.Thread(target=killer.run, name="killer")
    thread.start()
    try:
        yield killer
    finally:
        killer.stopped.set()
        thread.join()


def _permit_writes(deployment: LocalDeployment) -> None:
    with operating(deployment.aws):
        role = directory.read(ORGANIZATION).role(ROLE)
        members.put_role(ORGANIZATION, replace(role, allow=(*role.allow, "stub.*")))
