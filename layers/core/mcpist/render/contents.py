"""Contents: what an MCP server's tool answered, as JSON for references and as blocks for the model.

Text is JSON where it is written so, and a text else. Where there are images, audio, links or resources besides, the
JSON is `{"value": ..., "content": [blocks]}`, so that nothing is lost on the way through a batch.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

type Block = Mapping[str, Any]

_BLOCK_TYPES = frozenset({"image", "audio", "resource_link", "resource"})
_ENVELOPE_KEYS = {"value", "content"}
# What servers wrap around an answer that is no object, since structured content must be one.
_WRAPPER_KEYS = {"result"}
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def json_of_result(result: Mapping[str, Any]) -> Any:
    """The JSON of a tool's result, as the protocol writes it."""
    blocks = [block for block in result.get("content", ()) if block.get("type") in _BLOCK_TYPES]
    texts = [block["text"] for block in result.get("content", ()) if block.get("type") == "text"]
    value = _structured(result["structuredContent"]) if "structuredContent" in result else _read(texts)
    return {"value": value, "content": blocks} if blocks else value


def split_content(found: Any) -> tuple[Any, Sequence[Block]]:
    """The value and the blocks of what `json_of_result` made."""
    if isinstance(found, dict) and found.keys() == _ENVELOPE_KEYS and isinstance(found["content"], list):
        blocks = found["content"]
        if blocks and all(isinstance(block, dict) and block.get("type") in _BLOCK_TYPES for block in blocks):
            return found["value"], blocks
    return found, ()


def text_of(result: Mapping[str, Any]) -> str:
    """All texts of a result, as a person reads them."""
    texts = (block["text"] for block in result.get("content", ()) if block.get("type") == "text")
    return "\n".join(texts)


def _structured(found: Any) -> Any:
    return found["result"] if isinstance(found, dict) and found.keys() == _WRAPPER_KEYS else found


def _read(texts: Sequence[str]) -> Any:
    """One text's value, or those of several; nothing where there is none."""
    values = [_value(text) for text in texts]
    return values[0] if len(values) == 1 else values or None


def _value(text: str) -> Any:
    """The object or the list that a text is the JSON of, else the text."""
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        found = json.loads(text, parse_constant=_reject_constant)
        if _SURROGATE_ESCAPE.search(text):  # it could be stored and sent nowhere
            found = json.loads(json.dumps(found, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return text
    return found


def _reject_constant(constant: str) -> Any:
    """NaN and the infinities are no JSON, whatever Python says."""
    raise ValueError(constant)
