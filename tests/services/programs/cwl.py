"""A declaration as a CommandLineTool of CWL v1.2, and a small reading of that standard: what its words must be.

https://www.commonwl.org/v1.2/CommandLineTool.html#CommandLineBinding, steps 1 to 4 of 4.1 "Input binding".
"""

import json
from collections.abc import Mapping
from typing import Any

from mcpist_services.programs.declaration import Binding, ToolDeclaration

type Document = dict[str, Any]


def command_line_tool(tool: ToolDeclaration) -> Document:
    """The document of the same tool; positions are numbered through, since ours keep the order in which they stand."""
    ordered = sorted(tool.argv[1:], key=lambda word: word.position if isinstance(word, Binding) else 0)
    arguments = [
        {"valueFrom": word, "position": place} for place, word in enumerate(ordered) if not isinstance(word, Binding)
    ]
    inputs = {
        word.input: _input(tool.properties[word.input], word, place)
        for place, word in enumerate(ordered)
        if isinstance(word, Binding)
    }
    return {
        "cwlVersion": "v1.2",
        "class": "CommandLineTool",
        "baseCommand": tool.program,
        "arguments": arguments,
        "inputs": inputs,
        "outputs": [],
    }


def _input(spec: Mapping[str, Any], word: Binding, place: int) -> Document:
    binding: Document = {"position": place, **_prefix(word)}
    if word.item_separator:
        binding["itemSeparator"] = word.item_separator
    kind: Any = _KINDS[str(spec["type"])]
    if kind == "array":
        kind = {"type": "array", "items": _KINDS[str(spec["items"]["type"])]}
        if word.items:
            kind["inputBinding"] = _prefix(word.items)
    return {"type": ["null", kind], "inputBinding": binding}


def _prefix(binding: Any) -> Document:
    return {"prefix": binding.prefix, "separate": binding.separate} if binding.prefix else {}


_KINDS = {"string": "string", "integer": "long", "number": "double", "boolean": "boolean", "array": "array"}


def words_of(document: Document, inputs: Mapping[str, Any]) -> list[str]:
    """The words of the command line, read from the standard's text; nothing of ours is used."""
    pieces: list[tuple[int, list[str]]] = [(one["position"], [one["valueFrom"]]) for one in document["arguments"]]
    for name, declared in document["inputs"].items():
        binding = declared["inputBinding"]
        pieces.append((binding["position"], _element(inputs.get(name), binding, declared["type"][1])))
    pieces.sort(key=lambda piece: piece[0])
    return [document["baseCommand"], *(word for _, words in pieces for word in words)]


def _element(value: Any, binding: Document, kind: Any) -> list[str]:
    prefix = [binding["prefix"]] if "prefix" in binding else []
    if value is None:  # "null: Add nothing."
        return []
    if isinstance(value, bool):  # "If true, add prefix to the command line. If false, add nothing."
        return prefix if value else []
    if isinstance(value, list):
        if not value:  # "If the array is empty, it does not add anything to command line."
            return []
        if "itemSeparator" not in binding:  # "add prefix, then recursively process individual elements"
            inner = kind.get("inputBinding", {})
            return prefix + [word for item in value for word in _element(item, inner, kind["items"])]
        value = binding["itemSeparator"].join(map(_text, value))
    text = _text(value)
    if prefix and binding.get("separate") is False:  # "concatenated into a single argument"
        return [prefix[0] + text]
    return [*prefix, text]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
