"""What processes hold, sampled through a run: memory, open files, threads. Linux alone tells, in /proc."""

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")

type Held = Literal["rss_kb", "files", "threads"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one moment, by the monotonic clock; `cpu` are the seconds that it has computed."""

    at: float
    rss_kb: int
    files: int
    threads: int
    cpu: float


type Samples = dict[str, list[Sample]]


@dataclass(frozen=True, slots=True)
class Change:
    """A median in the run's second quarter, after what warms up, and in its last."""

    before: float
    after: float

    @property
    def growth(self) -> float:
        """By which part of itself it has grown."""
        return self.after / self.before - 1


def sample(pid: int, now: float) -> Sample:
    """A process as it is; OSError where there is none."""
    process = Path(f"/proc/{pid}")
    told = dict(line.split(":", 1) for line in process.joinpath("status").read_text("utf-8").splitlines())
    files = sum(1 for _ in process.joinpath("fd").iterdir())
    # The second field is the name in brackets, which may hold spaces.
    fields = process.joinpath("stat").read_text("utf-8").rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return Sample(now, int(told["VmRSS"].split()[0]), files, int(told["Threads"]), ticks / TICKS_A_SECOND)


@contextmanager
def sampling(pids: Callable[[], Mapping[str, int]], every_seconds: float) -> Iterator[Samples]:
    """Sample the processes that there are, by their names, until the context ends."""
    seen: Samples = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every_seconds):
            for name, pid in pids().items():
                with suppress(OSError, KeyError):  # it has just ended: nothing is left to read, or no memory
                    taken = sample(pid, time.monotonic())
                    seen.setdefault(name, []).append(taken)

    watcher = threading.Thread(target=watch, name="sampling", daemon=True)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


def busy(processes: Iterable[Sequence[Sample]]) -> list[Sequence[Sample]]:
    """Those that did at least an equal share of the work: one that is seldom used still warms up at the end."""
    work = [(one[-1].cpu - one[0].cpu, one) for one in processes]
    share = sum(done for done, _ in work) / len(work) if work else 0
    return [one for done, one in work if done >= share]


def change(samples: Sequence[Sample], held: Held, began: float, ended: float) -> Change | None:
    """How what a process holds has changed in a run; None for one that was not there before its second quarter."""
    quarter = (ended - began) / 4
    second = [getattr(one, held) for one in samples if quarter <= one.at - began < 2 * quarter]
    last = [getattr(one, held) for one in samples if 3 * quarter <= one.at - began <= 4 * quarter]
    if not second or not last or samples[0].at - began > quarter:
        return None
    return Change(statistics.median(second), statistics.median(last))
