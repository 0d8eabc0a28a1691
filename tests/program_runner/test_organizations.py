"""Processes of organizations: nothing of one reaches the programs of another, on a kernel as Lambda's."""

import json
import os
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mcpist.programs.messages import ProgramRequest
from program_runner.confinement import processes
from program_runner.organizations import MAX_ORGANIZATIONS, OrganizationEnded, Organizations
from program_runner.run import run
from tests.program_runner.conftest import HOSTILE, Run, write_script
from tests.program_runner.test_hostile import running

type Ask = Callable[..., Any]


def perform(event: Any) -> Any:
    """Run a program as on Lambda, or do what the name of the message says."""
    if event == "pid":
        return os.getpid()
    if event == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return json.loads(run(ProgramRequest.model_validate(event), namespaces=False, landlock=False).stdout or "null")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files, of this test alone."""
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    return own


@pytest.fixture
def organizations(
    request: pytest.FixtureRequest, folder: Path, allow: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Organizations]:
    package = folder.parent / "package"
    package.mkdir()
    write_script(package / "hostile", HOSTILE.read_text("utf-8"))
    for name, value in {"PROGRAMS": str(package), "LOCAL_SERVICES": ""}.items():
        monkeypatch.setenv(name, value)
    allow()
    with warnings.catch_warnings(action="ignore"):  # this process has threads, the runner has none
        made = Organizations(perform, lambda: None, lambda: getattr(request, "param", False))
        yield made
        made.end(*made._processes)


def hostile(*arguments: str) -> dict[str, Any]:
    return {"organization": "acme", "program": "hostile", "arguments": arguments, "limits": {"seconds": 10}}


def test_what_a_program_leaves_behind_reaches_no_other_organization(organizations: Organizations, folder: Path) -> None:
    mark = f"left-by-{os.getpid()}"
    assert organizations.ask("acme", hostile("outlive", mark)) == {"left": True}
    assert running(mark) == 0, "it has ended before the answer"
    (folder / "left").mkdir(mode=0)
    (folder / "left.txt").write_text("for another")
    (folder / "link").symlink_to("/etc")
    first = organizations.ask("acme", hostile("witness", mark))
    found = organizations.ask("globex", hostile("witness", mark))
    assert found["marked"] == []
    assert found["limits"] == first["limits"]
    assert set(found["above"][:3]).isdisjoint(first["above"][:3]), "none of the processes above it was above the other"
    assert sorted(os.listdir(folder)) == []


def test_an_organization_keeps_its_process(organizations: Organizations) -> None:
    assert organizations.ask("acme", "pid") == organizations.ask("acme", "pid") != os.getpid()


def test_without_namespaces_one_organization_has_a_process(organizations: Organizations) -> None:
    first = organizations.ask("acme", "pid")
    assert organizations.ask("globex", "pid") in processes.children()
    assert first not in processes.children()


@pytest.mark.parametrize("organizations", [True], indirect=True)
def test_with_namespaces_the_last_ones_used_have(organizations: Organizations) -> None:
    names = [f"o{number}" for number in range(MAX_ORGANIZATIONS)]
    pids = {name: organizations.ask(name, "pid") for name in names}
    assert organizations.ask("o0", "pid") == pids["o0"]
    assert organizations.ask("globex", "pid") not in pids.values()
    assert organizations.ask("o0", "pid") == pids["o0"]
    assert pids["o1"] not in processes.children()


def test_a_process_that_dies_is_an_error_and_the_next_message_has_a_new_one(organizations: Organizations) -> None:
    before = organizations.ask("acme", "pid")
    with pytest.raises(OrganizationEnded):
        organizations.ask("acme", "die")
    assert organizations.ask("acme", "pid") != before


@pytest.mark.parametrize("hostile", ["landlock"], indirect=True)
def test_a_program_whose_supervisor_is_killed_ends_with_its_run(hostile: Run) -> None:
    others, mark = processes.children(), f"orphan-{os.getpid()}"
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(hostile, "hang", mark)
        while running(mark) == 0:
            os.sched_yield()
        (supervisor,) = set(processes.children()) - set(others)
        os.kill(supervisor, signal.SIGKILL)
        assert waiting.result().signal == "SIGKILL"
    assert running(mark) == 0
