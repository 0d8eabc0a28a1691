"""The one JSON document that a command prints."""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO

from mcpist.errors import Locale, McpistError


@dataclass(frozen=True)
class CommandResult:
    """What a command brought: texts or files for people in `outputs`, facts for programs in `metadata`.

    A `drawing` takes the document's place where it goes to a terminal: only people read there.
    """

    outputs: list[Any] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    drawing: str = ""


class CommandError(Exception):
    """A command's failure that is no McpistError: what an endpoint answered, or a wrong command line.

    A `drawing` takes the document's place at a terminal, as that of a success does.
    """

    def __init__(self, error: Mapping[str, Any], drawing: str = "") -> None:
        super().__init__(str(error.get("message")))
        self.drawing = drawing
        self.error = {key: error.get(key, default) for key, default in _ERROR.items()}


_ERROR: dict[str, Any] = {"code": "INTERNAL_ERROR", "message": "", "hint": "", "details": {}}


@dataclass
class Document:
    """The document of the command that runs."""

    command: str
    locale: Locale = "en"
    out: TextIO = field(default_factory=lambda: sys.stdout)
    started: float = field(default_factory=time.monotonic)

    def succeed(self, done: CommandResult) -> int:
        """Print the success; the exit code."""
        if self._draw(done.drawing):
            return 0
        elapsed = round((time.monotonic() - self.started) * 1000)
        self._print(
            {
                "success": True,
                "command": self.command,
                "timestamp": _now(),
                "execution_time_ms": elapsed,
                "outputs": done.outputs,
                "metadata": done.metadata,
            }
        )
        return 0

    def fail(self, error: McpistError | CommandError) -> int:
        """Print the error; the exit code."""
        if isinstance(error, CommandError) and self._draw(error.drawing):
            return 1
        shown = error.as_dict(self.locale) if isinstance(error, McpistError) else error.error
        self._print({"success": False, "error": shown, "command": self.command, "timestamp": _now()})
        return 1

    def _draw(self, drawing: str) -> bool:
        """Print a drawing, if there is one and a person reads."""
        drawn = bool(drawing) and self.out.isatty()
        if drawn:
            print(drawing, file=self.out, flush=True)
        return drawn

    def _print(self, value: dict[str, Any]) -> None:
        print(json.dumps(value, ensure_ascii=False), file=self.out, flush=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
