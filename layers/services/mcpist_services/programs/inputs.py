"""Inputs: the files and the standard input of a run, from a tool's arguments."""

import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import InvalidRequest
from mcpist.files import access
from mcpist.files.content_types import JSON, MARKDOWN, PLAIN, YAML
from mcpist.files.records import FileRecord
from mcpist.programs.messages import MAX_FILE_BYTES, MAX_FILES, MAX_INLINE_BYTES
from mcpist_services.programs.declaration import ToolDeclaration, is_file

_SUFFIXES: Mapping[str, str] = {JSON: ".json", MARKDOWN: ".md", PLAIN: ".txt", YAML: ".yaml"}


@dataclass(slots=True)
class Staged:
    """The inputs of a run."""

    arguments: dict[str, Any]
    """The arguments, with paths in the run's folder in the place of files."""
    files: dict[str, FileRecord] = field(default_factory=dict)
    """The files by their paths."""
    stdin: bytes = b""
    stdin_file: str | None = None

    @property
    def size_bytes(self) -> int:
        """The size of everything that the program reads."""
        return len(self.stdin) + sum(file.size_bytes for file in self.files.values())


def stage(caller: Caller, tool: ToolDeclaration, arguments: Mapping[str, Any]) -> Staged:
    """Find the caller's files among the arguments, and name each after its input and its type."""
    staged = Staged(dict(arguments))
    for name, spec in tool.properties.items():
        value = arguments.get(name)
        if value is None:
            continue
        if is_file(spec):
            staged.arguments[name] = _add(staged, caller, value, name, name)
        elif is_file(spec.get("items")):
            staged.arguments[name] = [
                _add(staged, caller, one, f"{name}-{number}", f"{name}.{number - 1}")
                for number, one in enumerate(value, 1)
            ]
    if len(staged.files) > MAX_FILES:
        raise InvalidRequest(field="params", problem=f"a run takes at most {MAX_FILES} files")
    if tool.stdin is not None:
        _set_stdin(staged, tool.stdin, by_file=is_file(tool.properties[tool.stdin]))
    return staged


def _add(staged: Staged, caller: Caller, address: Any, stem: str, name: str) -> str:
    """Add a file, and return its path in the run's folder."""
    file = access.find(caller, address, f"params.{name}")
    if file.size_bytes > MAX_FILE_BYTES:
        problem = f"the file has {file.size_bytes:,} bytes, and a program takes at most {MAX_FILE_BYTES:,}"
        raise InvalidRequest(field=f"params.{name}", problem=problem)
    path = f"{stem}{_SUFFIXES.get(file.content_type) or mimetypes.guess_extension(file.content_type) or ''}"
    staged.files[path] = file
    return path


def _set_stdin(staged: Staged, name: str, *, by_file: bool) -> None:
    """Set the standard input: a file as it is, a text as UTF-8, any other value as JSON."""
    value = staged.arguments.get(name)
    if value is None:
        return
    if by_file:
        staged.stdin_file = value
        return
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    staged.stdin = text.encode(errors="replace")
    if len(staged.stdin) > MAX_INLINE_BYTES:
        problem = f"it has more than {MAX_INLINE_BYTES:,} bytes"
        raise InvalidRequest(field=f"params.{name}", problem=problem)
