"""Which file a program is: one of the package, or one of this machine's allow-list."""

import os
from pathlib import Path

from mcpist.errors import ProgramUnavailable
from mcpist.settings import settings


def locate(program: str) -> Path:
    """Return a program's file; ProgramUnavailable if there is none, or it may not run."""
    path = _allowed(program) if program.startswith("/") else _packaged(program)
    if not path.is_file():
        raise ProgramUnavailable(service=program, program=program, problem="it is missing")
    if not os.access(path, os.X_OK):
        raise ProgramUnavailable(service=program, program=program, problem="it is not executable")
    return path


def _allowed(program: str) -> Path:
    if program not in settings().allowed_programs:
        raise ProgramUnavailable(service=program, program=program, problem="it is not on this machine's allow-list")
    return Path(program)


def _packaged(program: str) -> Path:
    package = Path(settings().programs).resolve()
    path = (package / program).resolve()
    if not path.is_relative_to(package):
        raise ProgramUnavailable(service=program, program=program, problem="it leads out of its package")
    return path
