"""The processes of a run, and the space that its folder takes."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

MIN_ENTRY_BYTES = 1024
KILL_SECONDS = 2.0
MAX_COUNTED = 10_000


def descendants(pid: str = "self") -> Iterator[int]:
    """Yield the processes below one, by the numbers of this /proc."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                yield int(child)
                yield from descendants(child)


def count() -> int:
    """Return how many processes are below this one."""
    return sum(1 for _ in islice(descendants(), MAX_COUNTED))


def owned() -> int:
    """Return how many processes and threads our user has, as far as this /proc shows them."""
    counted = 0
    for entry in os.listdir("/proc"):
        with suppress(OSError):
            if entry.isdecimal() and os.stat(f"/proc/{entry}/task").st_uid == os.geteuid():
                counted += len(os.listdir(f"/proc/{entry}/task"))
    return counted


def kill_all(*, everything: bool) -> None:
    """End all processes below this one, also those that left its group or are orphans.

    With `everything` they share a namespace in which this process is the first.
    """
    until = time.monotonic() + KILL_SECONDS
    while time.monotonic() < until:
        with suppress(ProcessLookupError, PermissionError):
            if everything:
                os.kill(-1, signal.SIGKILL)
        if not everything:
            for pid in descendants():
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.005)


def folder_bytes(folder: str) -> int:
    """Return the space that a folder takes; every entry takes some."""
    total, folders = 0, [folder]
    while folders:
        try:
            with os.scandir(folders.pop()) as entries:
                for entry in entries:
                    with suppress(OSError):
                        # A block of this count has 512 bytes, whatever the file system's have.
                        total += max(entry.stat(follow_symlinks=False).st_blocks * 512, MIN_ENTRY_BYTES)
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
        except OSError:
            continue
    return total
