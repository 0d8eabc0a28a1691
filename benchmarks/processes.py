"""Samples of processes during a run: memory, open files and threads, from Linux's /proc."""

import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

type Held = Literal["memory_kb", "files", "threads"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one moment of the monotonic clock."""

    at: float
    memory_kb: int
    """What is its own: pages of files come and go as the machine needs them."""
    files: int
    threads: int


type Samples = dict[str, list[Sample]]


@dataclass(frozen=True, slots=True)
class Change:
    """The largest process's value in the run's second quarter, after the warm-up, and in its last quarter."""

    before: float
    after: float

    @property
    def growth(self) -> float:
        """The growth as a fraction of the first value."""
        return self.after / self.before - 1

    def __str__(self) -> str:
        return f"{self.before:.0f} to {self.after:.0f}"


def sample(pid: int, now: float) -> Sample:
    """Sample a process; OSError if it does not exist."""
    process = Path(f"/proc/{pid}")
    status = dict(line.split(":", 1) for line in process.joinpath("status").read_text("utf-8").splitlines())
    files = sum(1 for _ in process.joinpath("fd").iterdir())
    return Sample(now, int(status["RssAnon"].split()[0]), files, int(status["Threads"]))


@contextmanager
def sampling(pids: Callable[[], Mapping[str, int]], every_seconds: float) -> Iterator[Samples]:
    """Sample the running processes, by name, until the context ends."""
    seen: Samples = {}
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every_seconds):
            for name, pid in pids().items():
                with suppress(OSError, KeyError):  # the process has just ended
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
    """Return the change of a value of processes of one kind in a run; None without samples in a quarter.

    Only the largest value counts: a process that warms up late reaches the others, and only a leak exceeds them.
    """
    quarters: tuple[list[float], list[float]] = ([], [])
    for samples in processes:
        for number, medians in zip((1, 3), quarters, strict=True):
            values = [
                getattr(one, held) for one in samples if number <= 4 * (one.at - began) / (ended - began) < number + 1
            ]
            if values:
                medians.append(statistics.median(values))
    before, after = quarters
    return Change(max(before), max(after)) if before and after else None
