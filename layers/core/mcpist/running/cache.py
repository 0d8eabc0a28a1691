"""The response cache: answers to reads that repeat, kept for a while in the sandbox's memory.

It is off unless the setting says otherwise, and keeps only what a tool declares that it may.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mcpist.memory import Clock, on_forget, wall_clock
from mcpist.running.account import Account
from mcpist.tools.call import Call, CallResponse

MAX_CACHED_RESPONSES = 256
MAX_CACHE_BYTES = 16_000_000

type Key = tuple[str, ...]


@dataclass(slots=True)
class CachedResponse:
    """An answer as text, so that whoever changes what was made of it changes no other's; times by the wall clock."""

    headers: dict[str, str]
    text: str
    cached_at: float
    seconds: float

    def answer(self) -> CallResponse:
        """The answer, made anew."""
        return CallResponse(200, dict(self.headers), json.loads(self.text))

    def conditional(self, call: Call) -> Call:
        """The Call that asks whether the answer still holds, where the service gave it a tag."""
        tag = self.headers.get("etag")
        return replace(call, headers={**call.headers, "if-none-match": tag}) if tag and call.method == "GET" else call


class ResponseCache:
    """Some answers, the least recently used of which go first."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self._clock = clock
        self._entries: dict[Key, CachedResponse] = {}
        self._size_bytes = 0

    def find(self, account: Account, call: Call) -> CachedResponse | None:
        """What is kept for exactly this Call of this account, alive or not."""
        key = _key(account, call)
        kept = self._entries.pop(key, None)
        if kept:
            self._entries[key] = kept  # now the most recently used
        return kept

    def is_fresh(self, kept: CachedResponse) -> bool:
        """Whether an answer may be given without asking the service."""
        return 0 <= self._clock() - kept.cached_at < kept.seconds

    def store(self, account: Account, call: Call, answer: CallResponse, seconds: float) -> None:
        """Keep a complete answer that fits; the last one for the same Call goes."""
        key = _key(account, call)
        self._drop(key)
        text = json.dumps(answer.json)
        if answer.status != 200 or len(text) > MAX_CACHE_BYTES:
            return
        self._entries[key] = CachedResponse(dict(answer.headers), text, self._clock(), seconds)
        self._size_bytes += len(text)
        while len(self._entries) > MAX_CACHED_RESPONSES or self._size_bytes > MAX_CACHE_BYTES:
            self._drop(next(iter(self._entries)))

    def renew(self, kept: CachedResponse, seconds: float) -> CallResponse:
        """The answer that the service has just confirmed."""
        kept.cached_at, kept.seconds = self._clock(), seconds
        return kept.answer()

    @contextmanager
    def invalidating(self, account: Key) -> Iterator[None]:
        """Forget what an organization knows of a module, before and after something in it changes."""
        self.forget(account)
        try:
            yield
        finally:
            self.forget(account)

    def forget(self, prefix: Key = ()) -> None:
        """Drop the answers whose keys begin so: with an organization, and a module."""
        for key in [key for key in self._entries if key[: len(prefix)] == prefix]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        kept = self._entries.pop(key, None)
        self._size_bytes -= len(kept.text) if kept else 0


response_cache = ResponseCache()
on_forget(response_cache.forget)


def _key(account: Account, call: Call) -> Key:
    """The account and the whole Call; as a digest, since headers may be secret."""
    whole = [call.method, call.origin, call.path, dict(call.query), call.json, dict(call.headers)]
    return *account.key, hashlib.sha256(json.dumps(whole, sort_keys=True, default=repr).encode()).hexdigest()
