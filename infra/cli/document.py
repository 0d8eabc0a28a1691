"""The one JSON document that a command prints, and what a terminal shows instead."""

import json
import re
import sys
import time
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TextIO

from mcpist import errors
from mcpist.error_base import detail_in_language
from mcpist.errors import Locale, McpistError
from mcpist.phrases import translated
from mcpist.suggestions import NONE
from mcpist.visible_text import hidden_characters, visible

LOCALE: ContextVar[Locale | None] = ContextVar("locale", default=None)
"""The language of `--locale`; None for a person's own."""

DEFECT, CALLER, ADMINISTRATOR, USER, TRY_AGAIN, TOOL = range(1, 7)
_BRANCHES = {
    errors.CallerError: CALLER,
    errors.AdministratorError: ADMINISTRATOR,
    errors.AccountError: USER,
    errors.TransientError: TRY_AGAIN,
    errors.ToolExecutionError: TOOL,
}
# The exit code of each error code, by its branch of `errors.py`; any other is a defect.
EXIT_CODES = {
    kind.code: number
    for branch, number in _BRANCHES.items()
    for kind in (branch, *errors.concrete_errors(branch))
    if hasattr(kind, "code")
} | dict.fromkeys(("AUTHENTICATION_ERROR", "CONFIRMATION_REQUIRED", "APPROVAL_REQUIRED"), USER)
_RED, _PLAIN = "\033[1;31m", "\033[0m"
_NAME = re.compile(r"[\w.-]+")


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
            hint = f"{in_words(f'Did you mean {name}?')} {hint}"
        return cls(error.get("code", "INTERNAL_ERROR"), error.get("message", ""), hint, error.get("details"))


@dataclass
class CommandDocument:
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
        shown = error.as_dict(LOCALE.get() or "en") if isinstance(error, McpistError) else _in_language(error.error)
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


def in_words(text: str) -> str:
    """Return a text of the command line itself in the language of `--locale`."""
    locale = LOCALE.get() or "en"
    return text if locale == "en" else translated(text, Path(__file__).with_name(f"{locale}.toml"))


def problem_in_words(problem: dict[str, Any]) -> dict[str, Any]:
    """Return the problem of a field in the language of `--locale`."""
    return {name: detail_in_language(name, value, LOCALE.get() or "en") for name, value in problem.items()}


def _in_language(error: Mapping[str, Any]) -> dict[str, Any]:
    return {**error, "message": in_words(str(error["message"])), "hint": in_words(str(error.get("hint") or ""))}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def exit_code(code: str) -> int:
    """Return the exit code of an error."""
    return EXIT_CODES.get(code, DEFECT)


def draw_error(error: Mapping[str, Any]) -> str:
    """Return an error as lines: code and message, the place, further problems, and what to do."""
    message = visible(str(error["message"]))
    lines = [f"{_RED}{visible(str(error['code']))}{_PLAIN} {message}"]
    details = error.get("details") or {}
    place = [(name, visible(str(details[name]))) for name in ("line", "step", "field") if details.get(name)]
    said = [f"{name} {value}" for name, value in place if value not in message]
    lines += [f"{in_words('at')} {', '.join(said)}"] if said else []
    problems = [one for one in details.get("problems") or () if isinstance(one, dict)]
    further = [str(one.get("message") or f"{one.get('field')}: {one.get('problem')}") for one in problems]
    lines += [f"{in_words('also')} {text}" for text in map(visible, further) if text not in message]
    lines += [visible(f"{step['id']}: {step['policy']}") for step in details.get("verdicts") or ()]
    lines += [visible(str(error["hint"]), lines=True)] if error.get("hint") else []
    return "\n".join(lines)


def resembling(error: Mapping[str, Any]) -> str:
    """Return the known name that an unknown module's or tool's resembles; empty without one."""
    details = error.get("details") or {}
    # Only names that the error itself lists: of others the person may not learn.
    missing = {"MODULE_NOT_FOUND": "module", "TOOL_NOT_FOUND": "tool"}.get(str(error.get("code")), "")
    known = [] if details.get("known") == NONE else _NAME.findall(str(details.get("known", "")))
    return next(iter(get_close_matches(str(details.get(missing, "")), known, 1)), "")
