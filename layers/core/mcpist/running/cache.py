"""The response cache: answers to reads that repeat, kept for a while in the sandbox's memory.

It is off unless the setting says otherwise, and keeps only what a tool declares that it may.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from mcpist.running.account import Account
from mcpist.tools.call import Answer, Call

MOST_ANSWERS = 256
MOST_BYTES = 16_000_000

type Key = tuple[str, ...]


@dataclass(slots=True)
class Kept:
    """An answer as text, so that whoever changes what was made of it changes no other's; times by the wall clock."""

    headers: dict[str, str]
    text: str
    kept_at: float
    seconds: float

    def answer(self) -> Answer:
        """The answer, made anew."""
        return Answer(200, dict(self.headers), json.loads(self.text))

    def conditional(self, call: Call) -> Call:
        """The Call that asks whether the answer still holds, where the service gave it a tag."""
        tag = self.headers.get("etag")
        return replace(call, headers={**call.headers, "if-none-match": tag}) if tag and call.method == "GET" else call


class Answers:
    """Some answers, the least recently used of which go first."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._kept: dict[Key, Kept] = {}
        self._bytes = 0

    def find(self, account: Account, call: Call) -> Kept | None:
        """What is kept for exactly this Call of this account, alive or not."""
        key = _key(account, call)
        kept = self._kept.pop(key, None)
        if kept:
            self._kept[key] = kept  # now the most recently used
        return kept

    def is_alive(self, kept: Kept) -> bool:
        """Whether an answer may be given without asking the service."""
        return 0 <= self._clock() - kept.kept_at < kept.seconds

    def keep(self, account: Account, call: Call, answer: Answer, seconds: float) -> None:
        """Keep a complete answer that fits; the last one for the same Call goes."""
        key = _key(account, call)
        self._drop(key)
        text = json.dumps(answer.json)
        if answer.status != 200 or len(text) > MOST_BYTES:
            return
        self._kept[key] = Kept(dict(answer.headers), text, self._clock(), seconds)
        self._bytes += len(text)
        while len(self._kept) > MOST_ANSWERS or self._bytes > MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def renew(self, kept: Kept, seconds: float) -> Answer:
        """The answer that the service has just confirmed."""
        kept.kept_at, kept.seconds = self._clock(), seconds
        return kept.answer()

    @contextmanager
    def changing(self, account: Key) -> Iterator[None]:
        """Forget what an organization knows of a module, before and after something in it changes."""
        self.forget(account)
        try:
            yield
        finally:
            self.forget(account)

    def forget(self, prefix: Key = ()) -> None:
        """Drop the answers whose keys begin so: with an organization, and a module."""
        for key in [key for key in self._kept if key[: len(prefix)] == prefix]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        kept = self._kept.pop(key, None)
        self._bytes -= len(kept.text) if kept else 0


answers = Answers()


def _key(account: Account, call: Call) -> Key:
    """The account and the whole Call; as a digest, since headers may be secret."""
    whole = [call.method, call.origin, call.path, dict(call.query), call.json, dict(call.headers)]
    return *account.key, hashlib.sha256(json.dumps(whole, sort_keys=True, default=repr).encode()).hexdigest()
