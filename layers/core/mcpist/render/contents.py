"""The result of an MCP server's tool, as JSON for references and as content blocks for the model.

A text block is parsed where it is JSON. If there are images, audio, links or resources as well, the JSON is `{"value":
..., "content": [blocks]}`, so that nothing is lost on the way through a batch.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mcpist.strict_json import load_json

type Block = Mapping[str, Any]

_BLOCK_TYPES = frozenset({"image", "audio", "resource_link", "resource"})
_ENVELOPE_KEYS = {"value", "content"}
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def json_of_result(result: Mapping[str, Any]) -> Any:
    """Return the JSON of a tool's result in the protocol's form."""
    blocks = [block for block in result.get("content", ()) if block.get("type") in _BLOCK_TYPES]
    texts = [block["text"] for block in result.get("content", ()) if block.get("type") == "text"]
    if "structuredContent" in result:
        value = result["structuredContent"]
        # Structured content must be an object, so servers wrap other values.
        value = value["result"] if isinstance(value, dict) and value.keys() == {"result"} else value
    else:
        values = [_value(text) for text in texts]
        value = values[0] if len(values) == 1 else values or None
    return {"value": value, "content": blocks} if blocks else value


def split_content(value: Any) -> tuple[Any, Sequence[Block]]:
    """Split what `json_of_result` returned into its value and its blocks."""
    if isinstance(value, dict) and value.keys() == _ENVELOPE_KEYS and isinstance(value["content"], list):
        blocks = value["content"]
        if blocks and all(isinstance(block, dict) and block.get("type") in _BLOCK_TYPES for block in blocks):
            return value["value"], blocks
    return value, ()


def text_of(result: Mapping[str, Any]) -> str:
    """Return all texts of a result, for people."""
    texts = (block["text"] for block in result.get("content", ()) if block.get("type") == "text")
    return "\n".join(texts)


def _value(text: str) -> Any:
    """Return the object or list that a text is the JSON of, else the text."""
    if text.lstrip()[:1] not in {"{", "["}:
        return text
    try:
        value = load_json(text)
        if _SURROGATE_ESCAPE.search(text):  # half of a surrogate pair can be neither stored nor sent
            value = json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return text
    return value
