"""Errors on a terminal, and the exit codes that say who must act."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from mcpist import errors
from mcpist.suggestions import NONE
from mcpist.visible_text import visible

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
} | {"AUTHENTICATION_ERROR": USER, "CONFIRMATION_REQUIRED": USER}
_RED, _PLAIN = "\033[1;31m", "\033[0m"
_NAME = re.compile(r"[\w.-]+")


def exit_code(code: str) -> int:
    """Return the exit code of an error."""
    return EXIT_CODES.get(code, DEFECT)


def draw_error(error: Mapping[str, Any]) -> str:
    """Return an error as lines: code and message, the place, further problems, and what to do."""
    message = visible(str(error["message"]))
    lines = [f"{_RED}{visible(str(error['code']))}{_PLAIN} {message}"]
    place = [f"{name} {visible(str(value))}" for name, value in _place(error.get("details") or {}) if value]
    place = [one for one in place if one.partition(" ")[2] not in message]
    lines += [f"at {', '.join(place)}"] if place else []
    lines += [f"also {visible(text)}" for text in _further(error.get("details") or {})]
    lines += [visible(str(error["hint"]), lines=True)] if error.get("hint") else []
    return "\n".join(lines)


def resembling(error: Mapping[str, Any]) -> str:
    """Return the known name that an unknown module's or tool's resembles; empty without one."""
    details = error.get("details") or {}
    missing = {"MODULE_NOT_FOUND": "module", "TOOL_NOT_FOUND": "tool"}.get(str(error.get("code")), "")
    known = [] if details.get("known") == NONE else _NAME.findall(str(details.get("known", "")))
    return next(iter(get_close_matches(str(details.get(missing, "")), known, 1)), "")


def _place(details: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return [(name, details.get(name)) for name in ("line", "step", "field")]


def _further(details: Mapping[str, Any]) -> list[str]:
    """Return the other problems of the same arguments, or of the other lines of a batch."""
    problems = [one for one in details.get("problems") or () if isinstance(one, dict)]
    return [str(one.get("message") or f"{one.get('field')}: {one.get('problem')}") for one in problems]
