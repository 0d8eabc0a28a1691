"""The order to a supervisor, and its report: JSON lines over one socket."""

import json
import os
import socket
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from program_runner.confinement.processes import threads

GRACE_SECONDS = 1.0


@dataclass(frozen=True)
class Order:
    """One process to run."""

    command: tuple[str, ...]
    """The absolute path of the program, and its arguments."""
    folder: str
    """Its working directory."""
    environment: dict[str, str] = field(repr=False)
    network: bool
    root: str = ""
    """The only folder in which it may write; empty for no such confinement."""
    visible: tuple[str, ...] = ()
    """The other paths that it sees, and may read."""
    must_hide: bool = False
    """Whether it may not run where the kernel cannot hide all other files from it."""
    protected: tuple[int, ...] = field(default_factory=lambda: (os.getppid(), *threads()))
    """Processes and threads outside that it must not signal."""
    seconds: float = 0
    """After these it is ended; 0 for no such limit."""
    grace_seconds: float = GRACE_SECONDS
    """Between SIGTERM and SIGKILL."""
    memory_bytes: int = 0
    """0 for no such limit, as for the three below."""
    processes: int = 0
    file_bytes: int = 0
    folder_bytes: int = 0
    namespaces: bool = True
    """Whether to try them; tests do without, as Lambda's kernel does."""
    landlock: bool = True
    """Whether to try it where there are no mounts, as above."""

    def encode(self) -> bytes:
        """Return it as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """Return the order of a line."""
        fields: dict[str, Any] = json.loads(line)
        for name in ("command", "protected", "visible"):
            fields[name] = tuple(fields[name])
        return cls(**fields)


@dataclass(frozen=True)
class Report:
    """The end of the process, or the reason why it did not start."""

    isolation: tuple[str, ...] = ()
    exit_code: int | None = None
    signal: int = 0
    reached: str = ""
    """The limit for which it was ended: seconds, processes, folder_bytes or memory_bytes."""
    errno: int = 0
    """The error of a process that did not start."""

    def encode(self) -> bytes:
        """Return it as a line."""
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Self:
        """Return the report of a line; of a supervisor that was killed itself there is none."""
        fields: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {"signal": 9}
        return cls(**{**fields, "isolation": tuple(fields.get("isolation", ()))})


def read_line(control: socket.socket) -> bytes:
    """Read until the end of a line, or of the socket."""
    received = bytearray()
    while not received.endswith(b"\n") and (chunk := control.recv(65_536)):
        received += chunk
    return bytes(received)
