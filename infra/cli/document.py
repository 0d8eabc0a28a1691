"""The one JSON document that a command prints."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

from mcpist.errors import Locale, McpistError
from mcpist.visible_text import hidden_characters


@dataclass(frozen=True)
class CommandResult:
    """The result of a command."""

    texts: list[Any] = field(default_factory=list)
    """Texts for people, and JSON; they are `texts` in the document's metadata."""
    metadata: dict[str, Any] = field(default_factory=dict)
    """Facts for programs."""
    files: list[dict[str, Any]] = field(default_factory=list)
    """The references of files."""
    drawing: str = ""
    """The text that a terminal shows instead of the document."""


class CommandError(Exception):
    """A command's failure that is not a McpistError: an endpoint's error or a wrong command line.

    A terminal shows the `drawing`, if there is one, instead of the document.
    """

    def __init__(
        self, code: str, message: str, hint: str = "", details: Mapping[str, Any] | None = None, *, drawing: str = ""
    ) -> None:
        super().__init__(message)
        self.drawing = drawing
        self.error: dict[str, Any] = {"code": code, "message": message, "hint": hint, "details": details or {}}

    @classmethod
    def of_endpoint(cls, error: Mapping[str, Any]) -> "CommandError":
        """Return an endpoint's error."""
        code = error.get("code", "INTERNAL_ERROR")
        return cls(code, error.get("message", ""), error.get("hint", ""), error.get("details"))


@dataclass
class Document:
    """The document of the command that runs: a StandardResponse or an ErrorResponse."""

    arguments: Sequence[str] = ()
    """The command line; the document repeats it without secrets."""
    locale: Locale = "en"
    out: TextIO = field(default_factory=lambda: sys.stdout)
    started: float = field(default_factory=time.monotonic)

    def succeed(self, result: CommandResult) -> int:
        """Print a result and return the exit code."""
        if self._draw(result.drawing):
            return 0
        elapsed = round((time.monotonic() - self.started) * 1000)
        document = {
            "success": True,
            "command": self._command,
            "timestamp": _now(),
            "execution_time_ms": elapsed,
            "outputs": result.files,
            "metadata": result.metadata | ({"texts": result.texts} if result.texts else {}),
        }
        self._print("StandardResponse", document)
        return 0

    def fail(self, error: McpistError | CommandError) -> int:
        """Print an error and return the exit code."""
        if isinstance(error, CommandError) and self._draw(error.drawing):
            return 1
        shown = error.as_dict(self.locale) if isinstance(error, McpistError) else error.error
        document = {"success": False, "error": shown, "command": self._command, "timestamp": _now()}
        self._print("ErrorResponse", document)
        return 1

    def _draw(self, drawing: str) -> bool:
        """Print a drawing, if there is one and the output is a terminal."""
        drawn = bool(drawing) and self.out.isatty()
        if drawn:
            print(drawing, file=self.out, flush=True)
        return drawn

    @property
    def _command(self) -> str:
        from infra.cli.command_line import printable  # `--help` need not wait for it

        return printable(self.arguments)

    def _print(self, kind: Literal["StandardResponse", "ErrorResponse"], document: dict[str, Any]) -> None:
        from mcpist.files import reference
        from mcpist.files.schemas import check

        checked = check(getattr(reference, kind), document, "answer")
        text = json.dumps(checked.model_dump(), ensure_ascii=False)
        for letter in hidden_characters(text):  # the same JSON, which steers no terminal
            text = text.replace(letter, json.dumps(letter)[1:-1])
        print(text, file=self.out, flush=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
