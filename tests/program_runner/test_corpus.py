"""Every program of the corpus, in each way of a kernel: none gains anything, and nothing of it is left."""

import json
import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mcpist.errors import AnswerTooLarge, OutputRefused, ProgramLimitReached, Timeout
from mcpist.programs.messages import ProgramRequest
from program_runner.confinement import processes
from program_runner.confinement.kernel import forbid_inspection
from program_runner.run import run
from tests.program_runner import corpus
from tests.program_runner.conftest import WAYS, write_script
from tests.program_runner.test_hostile import running

pytestmark = pytest.mark.slow
ENDED = (AnswerTooLarge, OutputRefused, ProgramLimitReached, Timeout)
"""How a run may end besides with an answer."""
OF_FILES = {
    "change_the_guarded_file", "leave_a_file_of_memory", "read_it_by_a_link", "read_it_by_another_program",
    "read_it_by_dots", "read_it_by_proc", "read_the_guarded_file", "write_elsewhere",
}  # fmt: skip
"""Programs that gain on a kernel that hides no files: there only a packaged program runs, on Lambda, which has none."""
LIMITS = {"seconds": 4, "processes": 40, "folder_bytes": 20_000_000, "memory_bytes": 1 << 29}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, allow: Callable[..., None]) -> Iterator[Path]:
    """The package of the corpus, with an empty folder for runs that is empty again at the end."""
    folder, runs = tmp_path / "package", tmp_path / "runs"
    for made in (folder, runs):
        made.mkdir()
    write_script(folder / "corpus", Path(corpus.__file__).read_text("utf-8"))
    monkeypatch.setenv("PROGRAMS", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(runs))
    allow()
    yield folder
    assert list(runs.iterdir()) == []


def test_the_corpus_has_at_least_forty_programs_and_each_says_what_it_tries() -> None:
    assert len(corpus.PROGRAMS) >= 40
    assert all(function.__doc__ for function in corpus.PROGRAMS.values())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", corpus.PROGRAMS)
def test_a_hostile_program_gains_nothing(name: str, way: str, package: Path, tmp_path: Path) -> None:
    if way == "neither" and name in OF_FILES:
        pytest.skip("nothing hides files in this way")
    if way == "neither" and name == "write_into_proc" and os.geteuid() == 0:
        pytest.skip("files of /proc are root's, which programs of Lambda are not")
    guard = tmp_path / "guarded"
    guard.write_text("canary")
    forbid_inspection()
    before = state()
    message = {
        "organization": "acme", "program": "corpus", "arguments": (name, str(guard), str(os.getpid())),
        "limits": LIMITS, "outputs": [{"glob": "*.txt", "content_type": "text/plain"}],
    }  # fmt: skip
    try:
        result = run(ProgramRequest.model_validate(message), namespaces=way == "namespaces", landlock=way != "neither")
    except ENDED:
        pass
    else:
        assert b"canary" not in result.stdout
        assert "canary" not in result.stderr_tail
        assert (result.exit_code, result.signal) == (0, ""), result.stderr_tail
        found = json.loads(result.stdout)
        assert found
        assert [one for one in found if isinstance(one, str) and one != "nothing"] == []
    assert guard.read_text() == "canary"
    assert sorted(path.name for path in package.iterdir()) == ["corpus"]
    assert state() == before
    assert running(str(guard)) == 0


def state() -> object:
    """Return what a program could change of this process."""
    kinds = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
    limits = [resource.getrlimit(kind) for kind in kinds]
    return limits, os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), processes.children()
