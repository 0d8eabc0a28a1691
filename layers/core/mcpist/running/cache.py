"""The response cache: responses to repeated reads, in the sandbox's memory.

It is off unless the setting turns it on, and holds only responses of tools that declare `cache_seconds`.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mcpist.memory import Clock, on_forget, wall_clock
from mcpist.running.account import Account
from mcpist.tools.declare.call import Call, ServiceResponse

MAX_CACHED_RESPONSES = 256
MAX_CACHE_BYTES = 16_000_000

type Key = tuple[str, ...]


@dataclass(slots=True)
class CachedResponse:
    """A response as text, so that each caller gets its own copy."""

    headers: dict[str, str]
    text: str
    """The JSON."""
    cached_at: float
    """Seconds since 1970."""
    seconds: float
    """How long it is fresh."""

    def answer(self) -> ServiceResponse:
        """Return a copy of the response."""
        return ServiceResponse(200, dict(self.headers), json.loads(self.text))

    def conditional(self, call: Call) -> Call:
        """Return the Call with the response's ETag, if it has one, so that the service may answer 304."""
        tag = self.headers.get("etag")
        return replace(call, headers={**call.headers, "if-none-match": tag}) if tag and call.method == "GET" else call


class ResponseCache:
    """A bounded number of responses; the least recently used are dropped first."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        self._clock = clock
        self._entries: dict[Key, CachedResponse] = {}
        self._size_bytes = 0

    def find(self, account: Account, call: Call) -> CachedResponse | None:
        """Return the cached response to exactly this Call of this account, fresh or not."""
        key = _key(account, call)
        cached = self._entries.pop(key, None)
        if cached:
            self._entries[key] = cached  # now the most recently used
        return cached

    def is_fresh(self, cached: CachedResponse) -> bool:
        """Whether a response may be used without a request."""
        return 0 <= self._clock() - cached.cached_at < cached.seconds

    def store(self, account: Account, call: Call, response: ServiceResponse, seconds: float) -> None:
        """Store a complete response that is not too large, in place of the last one for the same Call."""
        key = _key(account, call)
        self._drop(key)
        text = json.dumps(response.json)
        if response.status != 200 or len(text) > MAX_CACHE_BYTES:
            return
        self._entries[key] = CachedResponse(dict(response.headers), text, self._clock(), seconds)
        self._size_bytes += len(text)
        while len(self._entries) > MAX_CACHED_RESPONSES or self._size_bytes > MAX_CACHE_BYTES:
            self._drop(next(iter(self._entries)))

    def renew(self, cached: CachedResponse, seconds: float) -> ServiceResponse:
        """Return a response that the service has just confirmed, fresh again."""
        cached.cached_at, cached.seconds = self._clock(), seconds
        return cached.answer()

    @contextmanager
    def invalidating(self, account: Key) -> Iterator[None]:
        """Drop an organization's responses of a module, before and after something in it changes."""
        self.forget(account)
        try:
            yield
        finally:
            self.forget(account)

    def forget(self, prefix: Key = ()) -> None:
        """Drop the responses whose keys have a prefix: an organization, or an organization and a module."""
        for key in [key for key in self._entries if key[: len(prefix)] == prefix]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        cached = self._entries.pop(key, None)
        self._size_bytes -= len(cached.text) if cached else 0


response_cache = ResponseCache()
on_forget(response_cache.forget)


def _key(account: Account, call: Call) -> Key:
    """Return the account's key and a digest of the Call, since its headers may be secret."""
    parts = [call.method, call.origin, call.path, dict(call.query), call.json, call.form, dict(call.headers)]
    return *account.key, hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()
