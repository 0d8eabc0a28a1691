"""The response cache: responses to repeated reads, in the sandbox's memory.

It is off unless the setting turns it on, and holds only responses of tools that declare `cache_seconds`.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mcpist.memory import Clock, Memory, wall_clock
from mcpist.running.accounts import Account
from mcpist.tools.declare.call import Call, ServiceResponse

MAX_CACHED_RESPONSES = 256
MAX_CACHE_BYTES = 16_000_000
MAX_STALE_SECONDS = 3_600.0  # a response that is fresh no longer is kept for its ETag

type Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CachedResponse:
    """A response as text, so that each caller gets its own copy."""

    headers: dict[str, str]
    text: str
    """The JSON."""
    fresh_until: float
    """The moment until which it may be used without a request, in seconds since 1970."""

    def copy(self) -> ServiceResponse:
        """Return a copy of the response."""
        return ServiceResponse(200, dict(self.headers), json.loads(self.text))

    def conditional(self, call: Call) -> Call:
        """Return the Call with the response's ETag, if it has one, so that the service may answer 304."""
        tag = self.headers.get("etag")
        return replace(call, headers={**call.headers, "if-none-match": tag}) if tag and call.method == "GET" else call


class ResponseCache(Memory[Key, CachedResponse]):
    """Responses by their account and Call; the oldest are dropped first."""

    def __init__(self, clock: Clock = wall_clock) -> None:
        super().__init__(
            MAX_STALE_SECONDS,
            MAX_CACHED_RESPONSES,
            clock,
            max_size=MAX_CACHE_BYTES,
            size_of=lambda response: len(response.text),
        )

    def find(self, account: Account, call: Call) -> CachedResponse | None:
        """Return the cached response to exactly this Call of this account, fresh or not."""
        return self.get(_key(account, call))

    def is_fresh(self, cached: CachedResponse) -> bool:
        """Whether a response may be used without a request."""
        return self.clock() < cached.fresh_until

    def store(
        self,
        account: Account,
        call: Call,
        response: ServiceResponse,
        seconds: float,
        cached: CachedResponse | None = None,
    ) -> ServiceResponse:
        """Store a complete response for some seconds, and return it; that of a 304 is the `cached` one, fresh again."""
        key, fresh_until = _key(account, call), self.clock() + seconds
        if cached and response.status == 304:
            return self.put(key, replace(cached, fresh_until=fresh_until)).copy()
        self.drop(lambda other, _: other == key)
        text = json.dumps(response.json)
        if response.status == 200 and len(text) <= MAX_CACHE_BYTES:
            self.put(key, CachedResponse(dict(response.headers), text, fresh_until))
        return response

    @contextmanager
    def invalidating(self, prefix: Key) -> Iterator[None]:
        """Drop an organization's responses of a module, before and after something in it changes."""
        self.drop(lambda key, _: key[: len(prefix)] == prefix)
        try:
            yield
        finally:
            # A read that ran beside the change may have cached the former state.
            self.drop(lambda key, _: key[: len(prefix)] == prefix)


response_cache = ResponseCache()


def _key(account: Account, call: Call) -> Key:
    """Return the account's key and a digest of the Call, since its headers may be secret."""
    parts = [call.method, call.origin, call.path, dict(call.query), call.json, call.form, dict(call.headers)]
    return *account.key, hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()
