"""Memory of a process: values that may be reused for a while, and one way to forget all of them."""

import functools
import time
from collections.abc import Callable, Hashable, Iterator
from math import inf
from threading import Lock
from typing import NamedTuple

type Clock = Callable[[], float]

_clear_entries: list[Callable[[], None]] = []
_clear_results: list[Callable[[], None]] = []


def wall_clock() -> float:
    """Return the seconds since 1970. Unlike the monotonic clock it goes on while a sandbox is frozen."""
    return time.time()


class _Entry[Value](NamedTuple):
    value: Value
    since: float  # seconds of the clock; an earlier time means that the clock was put back
    until: float  # seconds of the clock


class Memory[Key: Hashable, Value]:
    """Values by key, each for `seconds` at most. When there are `max_entries`, the oldest is dropped for a new one.

    So it is when the values' sizes by `size_of` would be more than `max_size` together. Threads may share it. A value
    is not None, so that None can mean that there is none.
    """

    def __init__(
        self,
        seconds: float,
        max_entries: int,
        clock: Clock = wall_clock,
        *,
        max_size: float = inf,
        size_of: Callable[[Value], float] | None = None,
    ) -> None:
        self.seconds = seconds
        self.max_entries = max_entries
        self.clock = clock
        self._max_size, self._size_of = max_size, size_of
        self._entries: dict[Key, _Entry[Value]] = {}
        self._lock = Lock()
        on_forget(self.clear)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Key]:
        """Iterate over the keys, the oldest first."""
        return iter(list(self._entries))

    def get(self, key: Key) -> Value | None:
        """Return the value of a key; None if there is none that may still be used."""
        now = self.clock()
        with self._lock:
            self._drop_expired(now)
            entry = self._entries.get(key)
        return entry.value if entry and entry.since <= now < entry.until else None

    def put(self, key: Key, value: Value, *, since: float | None = None, until: float = inf) -> Value:
        """Keep a value that was true at `since` (now, if not given), until the moment `until` at most; return it."""
        now = self.clock()
        since = now if since is None else since
        with self._lock:
            self._entries.pop(key, None)
            self._drop_expired(now)
            while len(self._entries) >= self.max_entries or (self._entries and self._is_too_large(value)):
                del self._entries[next(iter(self._entries))]
            self._entries[key] = _Entry(value, since, min(until, since + self.seconds))
        return value

    def get_or_make(self, key: Key, make: Callable[[], Value]) -> Value:
        """Return the value of a key; make and keep it if there is none."""
        # What is made is as old as its request: a change meanwhile must not look newer than it is.
        value, since = self.get(key), self.clock()
        return self.put(key, make(), since=since) if value is None else value

    def drop(self, condition: Callable[[Key, Value], bool]) -> None:
        """Drop the entries that meet a condition."""
        if not self._entries:
            return
        with self._lock:
            for key in [key for key, entry in self._entries.items() if condition(key, entry.value)]:
                del self._entries[key]

    def clear(self) -> None:
        """Drop all entries."""
        with self._lock:
            self._entries.clear()

    def _is_too_large(self, new: Value) -> bool:
        size_of = self._size_of
        if size_of is None:
            return False
        return sum(size_of(entry.value) for entry in self._entries.values()) + size_of(new) > self._max_size

    def _drop_expired(self, now: float) -> None:
        """Drop the oldest entries that have expired, so that a secret does not stay longer than it is used."""
        while self._entries:
            oldest = next(iter(self._entries))
            if self._entries[oldest].since <= now < self._entries[oldest].until:
                return
            del self._entries[oldest]


def cached[Result](function: Callable[..., Result]) -> "functools._lru_cache_wrapper[Result]":
    """Keep a function's results as functools.cache does, until `forget_all`; for what is made of the environment."""
    wrapper = functools.cache(function)
    _clear_results.append(wrapper.cache_clear)
    return wrapper


def on_forget(clear: Callable[[], None]) -> None:
    """Register what empties another memory than a `Memory`."""
    _clear_entries.append(clear)


def forget_entries() -> None:
    """Drop what this process has read and been answered, but not its settings and clients."""
    for clear in _clear_entries:
        clear()


def forget_all() -> None:
    """Make this process as new: its settings and clients are made again, and nothing is remembered."""
    forget_entries()
    for clear in _clear_results:
        clear()
