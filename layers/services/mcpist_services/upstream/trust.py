"""Which tools of an upstream may be shown and run: those that are as they were approved, and what has changed since."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from mcpist.visible_text import hidden_characters
from mcpist_services.definitions import is_reserved_name

if TYPE_CHECKING:
    from mcp_types import Prompt, Resource, ResourceTemplate, Tool

MAX_UNSUSPICIOUS_CHARACTERS = 4_000
MAX_ITEM_NAME_CHARACTERS = 128
# The fields of a tool that a model reads, or that permissions depend on.
PINNED_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
# Those of a resource, a template or a prompt; the time of a resource's last change is none of them.
PINNED_MATERIAL_FIELDS = ("name", "title", "description", "uri", "uriTemplate", "mimeType", "arguments")
MAX_URI_CHARACTERS = 400
MAX_TEXT_LINES = 400
"""Of a text; the rest is counted only."""
CONTEXT_LINES = 2

type ListedItem = Tool | Resource | ResourceTemplate | Prompt
type Verdict = Literal["approved", "changed", "new", "refused"]
type LineKind = Literal["same", "added", "removed", "skipped"]


@dataclass(frozen=True, slots=True)
class Pin:
    """The approval of a tool, by its name in the configuration or by the operator, valid for one fingerprint.

    That of a resource or a prompt, by its first sight or by the operator, has a name that no tool may have.
    """

    tool: str
    fingerprint: str
    by: Literal["name", "sight", "operator"]
    approved_at: int
    text: str = field(default="", repr=False)
    """What was approved, as `pinned_text` returns it; it is stored apart, and empty where approvals are read."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of a text, or of two texts that are compared."""

    kind: LineKind
    text: str
    """Of a `skipped` line the number of lines that are the same, or were cut."""


def pin_name(item: "ListedItem") -> str:
    """Return the name under which an item is approved: a tool's own, or that of a list and the name or address."""
    return item.name if hasattr(item, "input_schema") else " ".join(_kind_and_address(item))


def fingerprint(item: "ListedItem") -> str:
    """Return the SHA-256 of everything in an item that a model reads; the order of keys does not count."""
    return hashlib.sha256(pinned_text(item).encode()).hexdigest()


def pinned_text(item: "ListedItem") -> str:
    """Return everything in an item that a model reads as JSON; the order of keys does not count."""
    pinned = {key: _canonical(value) for key, value in _pinned_fields(item).items()}
    return json.dumps(pinned, sort_keys=True, separators=(",", ":"))


def approval_of(item: "ListedItem", by: Literal["name", "sight", "operator"], now: int) -> Pin:
    """Return the approval of an item as it is now."""
    return Pin(pin_name(item), fingerprint(item), by, now, pinned_text(item))


def judge(pins: Mapping[str, Pin], item: "ListedItem", *, named: bool) -> Verdict:
    """Return whether an item may be shown and used: as it was pinned, or at first sight if it is named.

    `new` and `changed` wait for approval, and so does a named item with hidden characters. `refused` cannot be
    approved.
    """
    if item_problem(item):
        return "refused"
    pin = pins.get(pin_name(item))
    if pin is not None:
        return "approved" if pin.fingerprint == fingerprint(item) else "changed"
    return "approved" if named and not any(hidden_characters(text) for text in _texts_of(item)) else "new"


def item_problem(item: "ListedItem") -> str:
    """Return why an item cannot be offered under its name and address; empty if it can."""
    if hasattr(item, "input_schema"):
        return name_problem(item.name)
    kind, address = _kind_and_address(item)
    limit = MAX_ITEM_NAME_CHARACTERS if kind == "prompts" else MAX_URI_CHARACTERS
    if len(item.name) > MAX_ITEM_NAME_CHARACTERS or not _is_visible_ascii(address, limit):
        what = "name" if kind == "prompts" else "address"
        return f"its {what} is not of 1 to {limit} visible ASCII characters"
    return ""


def name_problem(name: str) -> str:
    """Return why no tool may have this name; empty if it may."""
    if is_reserved_name(name):
        return "its name is one of MCPist's own"
    if not _is_visible_ascii(name, MAX_ITEM_NAME_CHARACTERS):
        return f"its name is not of 1 to {MAX_ITEM_NAME_CHARACTERS} visible ASCII characters"
    return ""


def review_warnings(item: "ListedItem") -> list[str]:
    """Return the points that a person should check before approving an item."""
    found = [reason] if (reason := item_problem(item)) else []
    hidden = sorted({letter for text in _texts_of(item) for letter in hidden_characters(text)})
    if hidden:
        found.append(f"hidden characters: {', '.join(f'U+{ord(letter):04X}' for letter in hidden)}")
    longest = max((len(text) for text in _texts_of(item)), default=0)
    if longest > MAX_UNSUSPICIOUS_CHARACTERS:
        found.append(f"a description of {longest:,} characters")
    return found


def _pinned_fields(item: "ListedItem") -> dict[str, Any]:
    """Return the fields of an item that a model reads, or that permissions depend on."""
    dumped = item.model_dump(mode="json", by_alias=True, exclude_none=True)
    names = PINNED_FIELDS if "inputSchema" in dumped else PINNED_MATERIAL_FIELDS
    return {name: dumped[name] for name in names if name in dumped}


def _kind_and_address(material: "ListedItem") -> tuple[str, str]:
    """Return the list that a resource, a template or a prompt is of, and what it is asked for by."""
    for kind, name in (("resources", "uri"), ("resourceTemplates", "uri_template"), ("prompts", "name")):
        if hasattr(material, name):
            return kind, str(getattr(material, name))
    raise TypeError(material)


def _texts_of(item: "ListedItem") -> Iterator[str]:
    """Yield every text of an item, also the descriptions in its schemas."""
    return _strings(list(_pinned_fields(item).values()))


def _is_visible_ascii(text: str, limit: int) -> bool:
    return 0 < len(text) <= limit and all(33 <= ord(letter) < 127 for letter in text)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from value
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _canonical(value: Any) -> Any:
    """Return a value in which the order of unordered parts does not count."""
    if isinstance(value, Mapping):
        return {
            key: sorted(inner) if key == "required" and _is_string_list(inner) else _canonical(inner)
            for key, inner in value.items()
        }
    return [_canonical(inner) for inner in value] if isinstance(value, list) else value


def _is_string_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def lines_of(text: str, limit: int = MAX_TEXT_LINES) -> list[TextLine]:
    """Return the lines of a pinned text as people read them."""
    lines = _readable(text)
    rest = [TextLine("skipped", str(len(lines) - limit))] if len(lines) > limit else []
    return [*(TextLine("same", line) for line in lines[:limit]), *rest]


def changes(before: str, after: str, limit: int = MAX_TEXT_LINES) -> list[TextLine]:
    """Return the lines that differ between two pinned texts, with some lines around them; those after `limit` are cut.

    The limit counts from the first line that differs, so that a long text in front of a change does not hide it.
    """
    from difflib import SequenceMatcher  # which only people's reviews need

    old, new = _readable(before), _readable(after)
    pairs = enumerate(zip(old, new, strict=False))
    equal = next((at for at, (one, other) in pairs if one != other), min(len(old), len(new)))
    begin = max(0, equal - CONTEXT_LINES)
    cut = max(0, len(old) - begin - limit, len(new) - begin - limit)
    old, new = old[begin : begin + limit], new[begin : begin + limit]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    found = _skipped(begin)
    end = 0
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        found += _skipped(group[0][1] - end)
        for tag, old_start, old_end, new_start, new_end in group:
            same = tag == "equal"
            found += (TextLine("same" if same else "removed", line) for line in old[old_start:old_end])
            found += (TextLine("added", line) for line in new[new_start:new_end] if not same)
        end = group[-1][2]
    return [*found, *_skipped(len(old) - end + cut)]


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
