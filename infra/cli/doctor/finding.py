"""What a check says: a state, what was found, and the command or setting that puts it right."""

from dataclasses import dataclass
from typing import Literal

type State = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line; a `problem` keeps people from working or secrets from being safe, a `warning` may soon."""

    state: State
    found: str
    remedy: str = ""


def ok(found: str) -> Finding:
    """As it must be."""
    return Finding("ok", found)


def warning(found: str, remedy: str) -> Finding:
    """It works, but somebody should look."""
    return Finding("warning", found, remedy)


def problem(found: str, remedy: str) -> Finding:
    """It does not work, or is not safe."""
    return Finding("problem", found, remedy)


def skipped(why: str) -> Finding:
    """It could not be looked at."""
    return Finding("skipped", why)
