"""The lines that a rehearsal prints, and the failure that ends it."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


class RehearsalFailed(Exception):
    """Something is not as it must be; the message says what."""


def expect(condition: object, problem: object) -> None:
    """Raise RehearsalFailed unless the condition holds."""
    if not condition:
        raise RehearsalFailed(str(problem))


@contextmanager
def act(text: str) -> Iterator[None]:
    """Print whether a part of the rehearsal succeeded, and its seconds."""
    started = time.monotonic()
    state = "failed"
    try:
        yield
        state = "ok"
    finally:
        sys.stderr.write(f"{state:6} {time.monotonic() - started:6.1f} s  {text}\n")
