"""What processes hold, sampled through a run: memory, open files, threads. Linux alone tells, in /proc."""

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

type Held = Literal["rss_kb", "files", "threads"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one moment, by the monotonic clock."""

    at: float
    rss_kb: int
    files: int
    threads: int


type Samples = dict[str, list[Sample]]


@dataclass(frozen=True, slots=True)
class Change:
    """What the process held that held most: in the run's second quarter, after what warms up, and in its last."""

    before: float
    after: float

    @property
    def growth(self) -> float:
        """By which part of itself it has grown."""
        return self.after / self.before - 1

    def __str__(self) -> str:
        return f"{self.before:.0f} to {self.after:.0f}"


def sample(pid: int, now: float) -> Sample:
    """A process as it is; OSError where there is none."""
    process = Path(f"/proc/{pid}")
    told = dict(line.split(":", 1) for line in process.joinpath("status").read_text("utf-8").splitlines())
    files = sum(1 for _ in process.joinpath("fd").iterdir())
    return Sample(now, int(told["VmRSS"].split()[0]), files, int(told["Threads"]))


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


def change(processes: Iterable[Sequence[Sample]], held: Held, began: float, ended: float) -> Change | None:
    """How what processes of one kind hold has changed in a run; None where none was there in one of the quarters.

    The one that holds most is looked at: who warms up late comes up to the others, and only a leak goes beyond.
    """
    quarters: tuple[list[float], list[float]] = ([], [])
    for samples in processes:
        for number, medians in zip((1, 3), quarters, strict=True):
            there = [
                getattr(one, held) for one in samples if number <= 4 * (one.at - began) / (ended - began) < number + 1
            ]
            if there:
                medians.append(statistics.median(there))
    before, after = quarters
    return Change(max(before), max(after)) if before and after else None
