"""The result of a check: a state, a description, and a command or setting as the remedy."""

from dataclasses import dataclass
from typing import Literal

type State = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line; a `problem` prevents work or endangers secrets, and a `warning` may do so soon."""

    state: State
    found: str
    remedy: str = ""


def ok(found: str) -> Finding:
    """Return a finding without a problem."""
    return Finding("ok", found)


def warning(found: str, remedy: str) -> Finding:
    """Return a finding that works now but needs attention."""
    return Finding("warning", found, remedy)


def problem(found: str, remedy: str) -> Finding:
    """Return a finding that does not work or is not safe."""
    return Finding("problem", found, remedy)


def skipped(why: str) -> Finding:
    """Return the finding of a check that could not be made."""
    return Finding("skipped", why)
