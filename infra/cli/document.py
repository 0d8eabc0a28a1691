"""The one JSON document that a command prints, and what a terminal shows instead."""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO

from infra.cli.error_view import draw_error, exit_code, resembling
from mcpist.errors import Locale, McpistError
from mcpist.visible_text import hidden_characters

LOCALE: ContextVar[Locale | None] = ContextVar("locale", default=None)
"""The language of `--locale`; None for a person's own."""

_DID_YOU_MEAN: dict[Locale, str] = {"en": "Did you mean {name}?", "ja": "{name} ではありませんか。"}


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
        hint = str(error.get("hint", ""))
        if name := resembling(error):
            hint = f"{_DID_YOU_MEAN[LOCALE.get() or 'en'].format(name=name)} {hint}"
        return cls(error.get("code", "INTERNAL_ERROR"), error.get("message", ""), hint, error.get("details"))


@dataclass
class Document:
    """The document of the command that runs: a StandardResponse or an ErrorResponse."""

    arguments: Sequence[str] = ()
    """The command line; the document repeats it without secrets."""
    as_json: bool = False
    """Whether a terminal, too, gets the document: `--json`."""
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
        self._print(document)
        return 0

    def fail(self, error: McpistError | CommandError) -> int:
        """Print an error and return the exit code, which says who must act."""
        shown = error.as_dict(LOCALE.get() or "en") if isinstance(error, McpistError) else error.error
        drawing = getattr(error, "drawing", "") or draw_error(shown)
        if not self._draw(drawing):
            document = {"success": False, "error": shown, "command": self._command, "timestamp": _now()}
            self._print(document)
        return exit_code(shown["code"])

    def _draw(self, drawing: str) -> bool:
        """Print a drawing, if there is one and the output is a terminal."""
        if not drawing or not self.draws:
            return False
        print(drawing, file=self.out, flush=True)
        return True

    @property
    def draws(self) -> bool:
        """Whether the reader is a person at a terminal."""
        return not self.as_json and self.out.isatty()

    @property
    def _command(self) -> str:
        from infra.cli.command_line import printable  # `--help` need not wait for it

        return printable(self.arguments)

    def _print(self, document: dict[str, Any]) -> None:
        text = json.dumps(document, ensure_ascii=False)
        for letter in hidden_characters(text):  # the same JSON, which steers no terminal
            text = text.replace(letter, json.dumps(letter)[1:-1])
        print(text, file=self.out, flush=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
