"""A gate at which a step of a test waits, so that a batch lasts as long as the test needs it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def held(gate: Path) -> Iterator[None]:
    """Hold everything that reads the gate until the context ends."""
    os.mkfifo(gate)
    try:
        yield
    finally:
        with os.fdopen(os.open(gate, os.O_RDWR), "w") as writer:  # for reading, too: it does not wait for a reader
            gate.unlink()
            gate.write_text("go")  # for what reads it from now on
            writer.write("go")


def waiting_step(id_: str, gate: Path) -> dict[str, Any]:
    """Return a step that waits at the gate."""
    return {"id": id_, "module": "probe", "tool": "wait", "params": {"gate": str(gate).removeprefix("/")}}
