"""Answers: what a run leaves, as the StandardResponse that every program answers with."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import OutputRefused
from mcpist.files import access
from mcpist.files.answers import preview
from mcpist.files.content import CONTENT_TYPES, JSON
from mcpist.files.records import FileRecord
from mcpist.files.reference import StandardResponse, check
from mcpist.files.values import parse
from mcpist.programs.messages import Output, ProgramResult
from mcpist.render.answer import compact_json, estimate_tokens
from mcpist_services.programs.declaration import ToolDeclaration

MAX_STDOUT_PREVIEW_CHARACTERS = 1_000
"""Of a text that becomes a file: a short one is read whole in the answer."""
MAX_INLINE_STDOUT_CHARACTERS = 400
"""A text that is not longer than its own reference would be is the preview alone, without a file."""
STDOUT = "stdout"
OWN_NAMES = frozenset({"attachments", "names", "preview"})
"""The metadata about files: `names` are those of the outputs, in their order."""


@dataclass(slots=True)
class ProgramAnswer:
    """The files of a run, and what its program said."""

    command: str
    """The tool's full name; its arguments are the caller's."""
    files: list[FileRecord] = field(default_factory=list)
    metadata: dict[str, Any] = field(default_factory=dict)
    tokens_before: int = 0
    """An estimate of the tokens of everything that the run left."""

    @property
    def tokens_after(self) -> int:
        """An estimate of the tokens of the answer."""
        return estimate_tokens(compact_json(self.metadata)) + estimate_tokens(compact_json(self._outputs()))

    def document(self, milliseconds: int) -> dict[str, Any]:
        """Return the StandardResponse, which both layers have checked."""
        response = {
            "success": True,
            "command": self.command,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "execution_time_ms": milliseconds,
            "outputs": self._outputs(),
            "metadata": self.metadata,
        }
        return check(StandardResponse, response, "answer").model_dump(mode="json")

    def add_file(self, caller: Caller, name: str, content: bytes, content_type: str) -> None:
        """Store a file as the caller's; one that is no text is an attachment, which outputs cannot hold."""
        file = access.put(caller, content, _type_of(content, content_type), name)
        self.files.append(file)
        if file.is_text:
            self.tokens_before += estimate_tokens(content.decode())
            self.metadata.setdefault("names", []).append(name)
        else:
            attachment = {"name": name, **file.reference.model_dump()}
            self.metadata.setdefault("attachments", []).append(attachment)

    def _outputs(self) -> list[dict[str, Any]]:
        return [file.reference.model_dump() for file in self.files if file.is_text]


def answer_of(caller: Caller, command: str, tool: ToolDeclaration, result: ProgramResult) -> ProgramAnswer:
    """Store what a run leaves as the caller's files, and return its answer; OutputRefused where a file is missing."""
    names = [PurePosixPath(output.name) for output in result.outputs]
    for rule in tool.outputs:
        if rule.required and not any(name.full_match(rule.glob) for name in names):
            raise OutputRefused(program=tool.program, problem=f"it left no file {rule.glob}")
    answer = ProgramAnswer(command)
    text, value = _standard_output(tool, result.stdout)
    if value is not None:
        answer.metadata = value
        answer.tokens_before = estimate_tokens(text)
    elif (
        text
        and tool.stdout.to == "auto"
        and len(text) <= MAX_INLINE_STDOUT_CHARACTERS
        and text.encode() == result.stdout
    ):
        answer.metadata["preview"] = text
        answer.tokens_before = estimate_tokens(text)
    elif text:
        answer.add_file(caller, STDOUT, result.stdout, tool.stdout.content_type)
        answer.metadata["preview"] = preview(text, tool.stdout.content_type, MAX_STDOUT_PREVIEW_CHARACTERS)
    for output in sorted(result.outputs, key=lambda output: _rule_of(tool, output)):
        answer.add_file(caller, output.name, output.content or b"", output.content_type)
    return answer


def _rule_of(tool: ToolDeclaration, output: Output) -> tuple[int, str]:
    """Return the place of an output among the others: by the rules of its declaration, then by its name."""
    name = PurePosixPath(output.name)
    matching = (number for number, rule in enumerate(tool.outputs) if name.full_match(rule.glob))
    return next(matching, len(tool.outputs)), output.name


def _standard_output(tool: ToolDeclaration, stdout: bytes) -> tuple[str, dict[str, Any] | None]:
    """Return the standard output, and the metadata that it is; None where it is to be a file."""
    rule = tool.stdout
    if rule.to == "nothing" or not stdout.strip():
        return "", None
    text = stdout.decode(errors="replace")
    found, value = _json(text) if rule.to in {"auto", "metadata"} else (False, None)
    # With `auto`, `42` or `true` is more likely a text than a program's data.
    if found and (rule.to == "metadata" or isinstance(value, dict | list)):
        # A program's own names give way to ours.
        own = value if isinstance(value, dict) else {"result": value}
        return text, {name: inner for name, inner in own.items() if name not in OWN_NAMES}
    if rule.to == "metadata":
        raise OutputRefused(program=tool.program, problem="its standard output is not JSON")
    return text, None


def _json(text: str) -> tuple[bool, Any]:
    """Return whether a text is JSON or JSON Lines, and its value."""
    try:
        value = parse(text, JSON)
    except ValueError:
        return False, None
    # Half of a surrogate pair can be neither stored nor sent.
    return True, json.loads(compact_json(value).encode(errors="replace"))


def _type_of(content: bytes, declared: str) -> str:
    """Return the type of a file: a text that is not UTF-8 is an attachment."""
    if declared not in CONTENT_TYPES:
        return declared
    try:
        content.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return declared
