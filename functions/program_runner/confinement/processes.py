"""The processes of a run, and the space that its folder takes."""

import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

MIN_ENTRY_BYTES = 1024
KILL_SECONDS = 2.0
MAX_COUNTED = 10_000
_KERNEL_LISTS_CHILDREN = os.path.exists("/proc/thread-self/children")  # an option of its build


def children(pid: int | str = "self") -> list[int]:
    """Return the processes whose parent is this one, by the numbers of this /proc."""
    found: list[int] = []
    with suppress(OSError):
        if not _KERNEL_LISTS_CHILDREN:
            parent = os.getpid() if pid == "self" else pid
            return [int(entry) for entry in os.listdir("/proc") if entry.isdecimal() and _parent(entry) == parent]
        for thread in os.listdir(f"/proc/{pid}/task"):
            found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def _parent(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def descendants(pid: int | str = "self", spared: Collection[int] = ()) -> Iterator[int]:
    """Yield the processes below one, but not those of its children that are `spared`, nor what is below them."""
    for child in children(pid):
        if child not in spared:
            yield child
            yield from descendants(child)


def threads() -> list[int]:
    """Return the numbers of this process's threads, of which its own is one."""
    try:
        return [int(thread) for thread in os.listdir("/proc/self/task")]
    except OSError:
        return [os.getpid()]


def count() -> int:
    """Return how many threads the processes below this one have."""
    return sum(map(_threads_of, islice(descendants(), MAX_COUNTED)))


def _threads_of(pid: int) -> int:
    try:
        return len(os.listdir(f"/proc/{pid}/task"))
    except OSError:
        return 1


def shared_bytes() -> int:
    """Return the shared memory of the processes below this one, of which the kernel limits the private alone."""
    total = 0
    for pid in islice(descendants(), MAX_COUNTED):
        with suppress(OSError, ValueError, IndexError):
            status = Path(f"/proc/{pid}/status").read_text().partition("RssShmem:")[2]
            total += int(status.split()[0]) * 1024
    return total


def owned() -> int:
    """Return how many processes and threads our user has, as far as this /proc shows them."""
    counted = 0
    for entry in os.listdir("/proc"):
        with suppress(OSError):
            if entry.isdecimal() and os.stat(f"/proc/{entry}/task").st_uid == os.geteuid():
                counted += len(os.listdir(f"/proc/{entry}/task"))
    return counted


def kill_all(*, everything: bool = False, spared: Collection[int] = ()) -> bool:
    """End and await all processes below this one, also those that left its group or are orphans; False if some live.

    With `everything` they share a namespace in which this process is the first. The children that are `spared` live on.
    """
    until = time.monotonic() + KILL_SECONDS
    while time.monotonic() < until:
        with suppress(ProcessLookupError, PermissionError):
            if everything:
                os.kill(-1, signal.SIGKILL)
        if not everything:
            for pid in descendants(spared=spared):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        if not _reap(spared):
            return True
        time.sleep(0.005)
    return False


def _reap(spared: Collection[int]) -> bool:
    """Await the children that have ended, but not the spared, which others await; return whether any is left."""
    if spared:
        alive = [child for child in children() if child not in spared]
        for child in alive:
            with suppress(ChildProcessError):
                os.waitpid(child, os.WNOHANG)
        return bool(alive)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


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
