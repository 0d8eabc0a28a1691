"""Runs: a tool's arguments become the inputs of one run of its program, and what the run leaves the answer."""

import json
import logging
import mimetypes
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import InternalError, InvalidRequest, McpistError, ProgramFailed, ProgramKilled
from mcpist.files import access
from mcpist.files.content import JSON, MARKDOWN, PLAIN, YAML
from mcpist.files.parameters import takes_file
from mcpist.files.records import FileRecord
from mcpist.programs.messages import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_INLINE_BYTES,
    Limits,
    OutputRule,
    ProgramRequest,
    ProgramResult,
)
from mcpist.settings import settings
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import (
    PROGRAM_ERRORS,
    PROGRAM_FILES,
    PROGRAM_INPUT_BYTES,
    PROGRAM_TIME,
    PROGRAM_TOKENS_SAVED,
)
from mcpist.tools.declare.call import Measured
from mcpist_services.programs.answers import answer_of
from mcpist_services.programs.command_line import command_line
from mcpist_services.programs.declaration import ToolDeclaration

# Programs write what the machine's language is; ours is the same everywhere.
ENVIRONMENT = {"NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
logger = logging.getLogger(__name__)

_SUFFIXES: Mapping[str, str] = {JSON: ".json", MARKDOWN: ".md", PLAIN: ".txt", YAML: ".yaml"}

type RunProgram = Callable[..., ProgramResult]
"""As `client.run`: a request, its files by their names, `deadline` and `reads`."""


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


@dataclass(frozen=True, slots=True)
class ProgramRuns:
    """The programs of a module, as one caller runs them."""

    caller: Caller
    module: str
    run_program: RunProgram

    def run(self, tool: ToolDeclaration, arguments: Mapping[str, Any], deadline: float) -> Measured:
        """Run a program with a tool's arguments, and return its answer."""
        command = f"{self.module}.{tool.name}"
        began = time.monotonic()
        with failures_counted(command):
            staged = stage(self.caller, tool, arguments)
            result = self.run_program(
                self._request(tool, staged), staged.files, deadline=deadline, reads=tool.effect == "reads"
            )
            self._raise_if_failed(tool, result)
            answer = answer_of(self.caller, command, tool, result)
        milliseconds = round((time.monotonic() - began) * 1000)
        measures = record(
            command,
            input_size_bytes=staged.size_bytes,
            output_file_count=len(answer.files),
            execution_time_ms=milliseconds,
            tokens_before=answer.tokens_before,
            tokens_after=answer.tokens_after,
        )
        return Measured(answer.document(milliseconds), measures)

    def _request(self, tool: ToolDeclaration, staged: Staged) -> ProgramRequest:
        return ProgramRequest(
            organization=self.caller.organization,
            program=executable(self.module, tool.program),
            arguments=tuple(command_line(tool, staged.arguments)),
            stdin=staged.stdin,
            stdin_file=staged.stdin_file,
            environment=ENVIRONMENT,
            outputs=tuple(OutputRule(glob=rule.glob, content_type=rule.content_type) for rule in tool.outputs),
            limits=Limits(seconds=tool.timeout_seconds),
            reads_files=tool.reads_files,
        )

    def _raise_if_failed(self, tool: ToolDeclaration, result: ProgramResult) -> None:
        """Raise ProgramFailed with the end of its standard error, which says most of what went wrong."""
        problem = result.stderr_tail.strip() or "it wrote nothing about it"
        if result.exit_code is None:
            raise ProgramKilled(program=tool.program, signal=result.signal, problem=problem, service=self.module)
        if result.exit_code not in tool.success_codes:
            raise ProgramFailed(program=tool.program, exit_code=result.exit_code, problem=problem, service=self.module)


def executable(module: str, program: str) -> str:
    """Return a program as the runner finds it: in the module's own folder, else one that this machine allows."""
    packaged = PurePath(module, program)
    if "/" in program or Path(settings().programs, packaged).is_file():
        return str(packaged)
    return next((path for path in settings().allowed_programs if PurePath(path).name == program), str(packaged))


def record(command: str, *, tokens_before: int, tokens_after: int, **measures: int) -> dict[str, int]:
    """Log and count a conversion, and return its numbers for the audit row.

    The token efficiency is the share of all tokens of the run's output that the answer leaves out.
    """
    saved = max(0, tokens_before - tokens_after)
    efficiency = round(saved / tokens_before, 3) if tokens_before else 0.0
    logger.info("program", extra={"command": command, **measures, "token_efficiency": efficiency})
    count(PROGRAM_TIME, measures["execution_time_ms"], by=command)
    count(PROGRAM_FILES, measures["output_file_count"], by=command)
    count(PROGRAM_INPUT_BYTES, measures["input_size_bytes"], by=command)
    count(PROGRAM_TOKENS_SAVED, saved, by=command)
    return {**measures, "tokens_before": tokens_before, "tokens_after": tokens_after}


@contextmanager
def failures_counted(command: str) -> Iterator[None]:
    """Log and count a failed conversion by the kind of its error."""
    code = InternalError.code
    try:
        yield
    except McpistError as error:
        code = error.code
        raise
    else:
        code = ""
    finally:
        if code:
            logger.info("program failed", extra={"command": command, "code": code})
            count(PROGRAM_ERRORS, by=code)


def stage(caller: Caller, tool: ToolDeclaration, arguments: Mapping[str, Any]) -> Staged:
    """Find the caller's files among the arguments, and name each after its input and its type."""
    staged = Staged(dict(arguments))
    for name, spec in tool.properties.items():
        value = arguments.get(name)
        if value is None:
            continue
        if takes_file(spec):
            staged.arguments[name] = _add(staged, caller, value, name, name)
        elif takes_file(spec.get("items")):
            staged.arguments[name] = [
                _add(staged, caller, one, f"{name}-{number}", f"{name}.{number - 1}")
                for number, one in enumerate(value, 1)
            ]
    if len(staged.files) > MAX_FILES:
        raise InvalidRequest(field="params", problem=f"a run takes at most {MAX_FILES} files")
    if tool.stdin is not None:
        _set_stdin(staged, tool.stdin, by_file=takes_file(tool.properties[tool.stdin]))
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
