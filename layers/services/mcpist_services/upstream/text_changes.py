"""The changes of a tool's text, line by line, for the person who is to approve it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

MAX_LINES = 400
"""Of a text; the rest is counted only."""
CONTEXT_LINES = 2

type Kind = Literal["same", "added", "removed", "skipped"]


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a text, or of two texts that are compared."""

    kind: Kind
    text: str
    """Of a `skipped` line the number of lines that are the same, or were cut."""


def lines_of(text: str) -> list[TextLine]:
    """Return the lines of a pinned text as people read them."""
    lines = _readable(text)
    rest = [TextLine("skipped", str(len(lines) - MAX_LINES))] if len(lines) > MAX_LINES else []
    return [*(TextLine("same", line) for line in lines[:MAX_LINES]), *rest]


def changes(before: str, after: str) -> list[TextLine]:
    """Return the lines that differ between two pinned texts, with some lines around them."""
    old, new = _readable(before)[:MAX_LINES], _readable(after)[:MAX_LINES]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    found: list[TextLine] = []
    end = 0
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        found += _skipped(group[0][1] - end)
        found += (line for opcode in group for line in _changed(opcode, old, new))
        end = group[-1][2]
    return [*found, *_skipped(len(old) - end)]


def _changed(opcode: tuple[str, int, int, int, int], old: Sequence[str], new: Sequence[str]) -> Iterator[TextLine]:
    tag, old_start, old_end, new_start, new_end = opcode
    if tag == "equal":
        yield from (TextLine("same", line) for line in old[old_start:old_end])
        return
    yield from (TextLine("removed", line) for line in old[old_start:old_end])
    yield from (TextLine("added", line) for line in new[new_start:new_end])


def _skipped(count: int) -> list[TextLine]:
    return [TextLine("skipped", str(count))] if count > 0 else []


def _readable(text: str) -> list[str]:
    """Return the fields of a pinned text in lines: a text as it is, anything else as indented JSON."""
    fields: dict[str, Any] = json.loads(text)
    return [line for name, value in fields.items() for line in _field_lines(name, value)]


def _field_lines(name: str, value: Any) -> list[str]:
    if isinstance(value, str):
        first, *more = value.split("\n")
        return [f"{name}: {first}", *(f"  {line}" for line in more)]
    return f"{name}: {json.dumps(value, ensure_ascii=False, indent=2)}".split("\n")
