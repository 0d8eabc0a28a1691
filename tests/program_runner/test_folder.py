"""Which programs run: those of the package, and those of this machine that its allow-list names."""

import sys
from collections.abc import Callable

import pytest

from mcpist.errors import ProgramUnavailable
from program_runner.folder import locate


def test_of_this_machine_only_the_programs_of_the_allow_list_run(allow: Callable[..., None]) -> None:
    allow(sys.executable)
    assert str(locate(sys.executable)) == sys.executable
    allow("/usr/bin/another")
    with pytest.raises(ProgramUnavailable, match="allow-list"):
        locate(sys.executable)
