"""Which tools of an upstream may be shown and run: those that are as they were approved."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from mcpist.visible_text import hidden_characters

if TYPE_CHECKING:
    from mcp_types import Tool

META_TOOLS = frozenset({"get_module_schema", "call", "batch", "get_category_tools", "call_category_tool"})
MAX_DESCRIPTION_CHARACTERS = 4_000
MAX_NAME_CHARACTERS = 128
# The fields of a tool that a model reads, or that permissions depend on.
PINNED_FIELDS = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
type Verdict = Literal["approved", "changed", "new", "refused"]


@dataclass(frozen=True, slots=True)
class Pin:
    """The approval of a tool, by its name in the configuration or by the operator, valid for one fingerprint."""

    tool: str
    fingerprint: str
    by: Literal["name", "operator"]
    approved_at: int


def fingerprint(tool: "Tool") -> str:
    """Return the SHA-256 of everything in a tool that a model reads; the order of keys does not count."""
    dumped = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    pinned = {key: _canonical(dumped[key]) for key in PINNED_FIELDS if key in dumped}
    return hashlib.sha256(json.dumps(pinned, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def judge(pins: Mapping[str, Pin], tool: "Tool", *, named: bool) -> Verdict:
    """Return whether a tool may be shown and run: as it was pinned, or at first sight if it is named.

    `new` and `changed` wait for approval, and so does a named tool with hidden characters. `refused` cannot be
    approved.
    """
    if name_problem(tool.name):
        return "refused"
    pin = pins.get(tool.name)
    if pin is not None:
        return "approved" if pin.fingerprint == fingerprint(tool) else "changed"
    return "approved" if named and not any(hidden_characters(text) for text in _texts_of(tool)) else "new"


def name_problem(name: str) -> str:
    """Return why no tool may have this name; empty if it may."""
    if is_reserved_name(name):
        return "its name is one of MCPist's own"
    if not name or len(name) > MAX_NAME_CHARACTERS or not all(33 <= ord(letter) < 127 for letter in name):
        return f"its name is not of 1 to {MAX_NAME_CHARACTERS} visible ASCII characters"
    return ""


def review_warnings(tool: "Tool") -> list[str]:
    """Return what a person should check before approving a tool."""
    found = [reason] if (reason := name_problem(tool.name)) else []
    hidden = sorted({letter for text in _texts_of(tool) for letter in hidden_characters(text)})
    if hidden:
        found.append(f"hidden characters: {', '.join(f'U+{ord(letter):04X}' for letter in hidden)}")
    longest = max((len(text) for text in _texts_of(tool)), default=0)
    if longest > MAX_DESCRIPTION_CHARACTERS:
        found.append(f"a description of {longest:,} characters")
    return found


def is_reserved_name(name: str) -> bool:
    """Whether a name could be taken for one of our meta-tools or modules."""
    from mcpist_services import NAMES

    plain = name.lower().replace("-", "_")
    return plain in META_TOOLS or plain in NAMES


def _texts_of(tool: "Tool") -> Iterator[str]:
    """Yield every text of a tool, also the descriptions in its schemas."""
    dumped = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
    return _strings([dumped[key] for key in PINNED_FIELDS if key in dumped])


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
