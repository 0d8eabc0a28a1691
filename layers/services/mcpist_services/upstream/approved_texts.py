"""The approved texts of upstreams' items, so that a person sees what a new text changes, line by line.

Items (`pk`, `sk`): PARTITION#texts, TOOL, with the compressed text of the last approval. They stand beside the
partition of the approvals, which every sandbox reads, and are read only for those who decide.
"""

import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from mcpist.aws.table import Table
from mcpist_services.upstream.trust import Pin

MAX_TEXT_BYTES = 60_000
"""Of the compressed text; of a longer one only the fingerprint is kept."""
MAX_READ_TEXTS = 100
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


def store(table: Table, partition: str, pin: Pin) -> None:
    """Store the text of an approval, in place of the one before."""
    content = zlib.compress(pin.text.encode())
    if pin.text and len(content) <= MAX_TEXT_BYTES:
        table.update(_key(partition), pin.tool, "SET #content = :content", values={":content": content})


def read(table: Table, partition: str, pins: Mapping[str, Pin]) -> dict[str, str]:
    """Return the texts of approvals by their tools, of 100 at most; older approvals and long texts have none."""
    names = list(pins)[:MAX_READ_TEXTS]
    items = table.get_many([(_key(partition), name) for name in names])
    found = {item["sk"]: zlib.decompress(item["content"]) for item in items}
    return {
        name: content.decode()
        for name, content in found.items()
        if hashlib.sha256(content).hexdigest() == pins[name].fingerprint
    }


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


def _key(partition: str) -> str:
    return f"{partition}#texts"


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
