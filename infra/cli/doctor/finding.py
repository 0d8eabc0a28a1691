"""The result of a check: a state, a description, and a command or setting as the remedy."""

from dataclasses import dataclass
from typing import Literal

type State = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class CheckFinding:
    """One line; a `problem` prevents work or endangers secrets, and a `warning` may do so soon."""

    state: State
    found: str
    remedy: str = ""


def ok(found: str) -> CheckFinding:
    """Return a finding without a problem."""
    return CheckFinding("ok", found)


def warning(found: str, remedy: str) -> CheckFinding:
    """Return a finding that works now but needs attention."""
    return CheckFinding("warning", found, remedy)


def problem(found: str, remedy: str) -> CheckFinding:
    """Return a finding that does not work or is not safe."""
    return CheckFinding("problem", found, remedy)


def skipped(why: str) -> CheckFinding:
    """Return the finding of a check that could not be made."""
    return CheckFinding("skipped", why)
