"""Runs: from a tool's arguments to one run of its program, and from what it leaves to the answer."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import ProgramFailed, ProgramKilled
from mcpist.programs import client
from mcpist.programs.messages import Limits, OutputRule, ProgramRequest, ProgramResult
from mcpist.settings import settings
from mcpist.tools.call import Measured
from mcpist_services.programs import measures
from mcpist_services.programs.answers import Answer, answer_of
from mcpist_services.programs.command_line import command_line
from mcpist_services.programs.declaration import ToolDeclaration
from mcpist_services.programs.inputs import Staged, stage

# Programs write what the machine's language is; ours is the same everywhere.
ENVIRONMENT = {"NO_COLOR": "1", "LC_ALL": "C.UTF-8"}

type RunProgram = Callable[..., ProgramResult]
"""As `client.run`: a request, its files by their names, `deadline` and `reads`."""


def run_in_sandbox(*args: Any, **kwargs: Any) -> ProgramResult:
    """Run a program in the room without rights."""
    return client.run(*args, **kwargs)


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
        with measures.failures_counted(command):
            staged = stage(self.caller, tool, arguments)
            result = self.run_program(
                self._request(tool, staged), staged.files, deadline=deadline, reads=tool.effect == "reads"
            )
            self._raise_if_failed(tool, result)
            answer = answer_of(self.caller, command, tool, result)
        milliseconds = round((time.monotonic() - began) * 1000)
        return Measured(answer.document(milliseconds), self._measure(command, staged, answer, milliseconds))

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
        )

    def _raise_if_failed(self, tool: ToolDeclaration, result: ProgramResult) -> None:
        """Raise ProgramFailed with the end of its standard error, which says most of what went wrong."""
        problem = result.stderr_tail.strip() or "it wrote nothing about it"
        if result.exit_code is None:
            raise ProgramKilled(program=tool.program, signal=result.signal, problem=problem, service=self.module)
        if result.exit_code not in tool.success_codes:
            raise ProgramFailed(program=tool.program, exit_code=result.exit_code, problem=problem, service=self.module)

    def _measure(self, command: str, staged: Staged, answer: Answer, milliseconds: int) -> dict[str, int]:
        return measures.record(
            command,
            input_size_bytes=staged.size_bytes,
            output_file_count=len(answer.files),
            execution_time_ms=milliseconds,
            tokens_before=answer.tokens_before,
            tokens_after=answer.tokens_after,
        )


def executable(module: str, program: str) -> str:
    """Return a program as the runner finds it: in the module's own folder, else one that this machine allows."""
    packaged = PurePath(module, program)
    if "/" in program or Path(settings().programs, packaged).is_file():
        return str(packaged)
    return next((path for path in settings().allowed_programs if PurePath(path).name == program), str(packaged))
