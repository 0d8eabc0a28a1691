"""The view of a running batch: lines in a pipe, a live table on a terminal, and a hint after Ctrl-C."""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from infra.cli.document import CALLER, TRY_AGAIN, USER
from infra.cli.endpoint import WHOLE_ANSWER
from infra.cli.main import run
from infra.cli.progress import LiveTable
from infra.source import ROOT
from mcpist.batch.timeline import Progress
from tests.infra.cli.fake_endpoint import BATCH, FakeEndpoint, Json, scene, serving_scenes, step

COMMAND_TIMEOUT_SECONDS = 30
SCENES = (
    scene(0.1, step("find", "running", at=(0.1,)), step("page", "waiting", "find", waits=("find",))),
    scene(
        0.9,
        step("find", "succeeded", at=(0.1, 0.8)),
        step("page", "running", "find", at=(0.9,), elements={"count": 12, "settled": 3}),
    ),
    scene(
        2.0,
        step("find", "succeeded", at=(0.1, 0.8)),
        step("page", "failed", "find", at=(0.9, 1.9), elements={"count": 12, "settled": 12, "failed": 2}),
        done=True,
    ),
)

FETCH = {"batch_id": BATCH, **WHOLE_ANSWER}


@pytest.fixture
def stage() -> Iterator[FakeEndpoint]:
    with serving_scenes(*SCENES) as stage:
        yield stage


@pytest.fixture
def endless() -> Iterator[FakeEndpoint]:
    """A batch whose second step never ends."""
    with serving_scenes(*SCENES[:2]) as stage:
        yield stage


@pytest.fixture
def commands(tmp_path: Path) -> str:
    file = tmp_path / "batch.jsonl"
    file.write_text("any")
    return str(file)


@contextmanager
def started(stage: FakeEndpoint, *arguments: str, **pipes: int) -> Iterator[subprocess.Popen[str]]:
    """Start `mcpist batch`."""
    asked = [sys.executable, "-m", "infra.cli.main", "batch", *arguments, "--url", stage.url, "--token", "t"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm"}
    process = subprocess.Popen(asked, env=environment, text=True, **pipes)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


# -- in a pipe -----------------------------------------------------------------------------------------


def test_a_pipe_gets_a_line_for_each_change_and_the_usual_document(
    stage: FakeEndpoint, commands: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["batch", commands, "--watch", "--timeout", "60", "--url", stage.url, "--token", "t"]) == 0
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [
        "    0.10 s  find: running",
        "    0.80 s  find: succeeded in 0.70 s",
        "    0.90 s  page: running, 3/12",
        "    1.90 s  page: failed, 12/12 (2 failed) in 1.00 s",
        f"    1.90 s  batch {BATCH}: done with errors, 2 of 2 steps",
    ]
    (line,) = captured.out.splitlines()
    assert json.loads(line)["metadata"]["texts"] == [f"batch {BATCH}: the end"]
    assert stage.asked == [{"commands": "any", "dry_run": False, "timeout": 60, **WHOLE_ANSWER}, FETCH]


def test_a_batch_can_be_watched_later(stage: FakeEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["batch", "--id", BATCH, "--watch", "--url", stage.url, "--token", "t"]) == 0
    assert "page: running, 3/12" in capsys.readouterr().err
    assert stage.asked == [FETCH] * 2, "to start what was approved, and for the results"


def test_an_invalid_batch_is_refused_before_it_is_watched(
    stage: FakeEndpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "wrong.jsonl").write_text("wrong")
    assert run(["batch", str(tmp_path / "wrong.jsonl"), "--watch", "--url", stage.url, "--token", "t"]) == CALLER
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["code"] == "VALIDATION_ERROR"
    assert captured.err == ""
    assert stage.reads == 0


def test_a_missing_batch_is_a_typed_error_with_a_hint(stage: FakeEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["batch", "--id", "b_none", "--watch", "--url", stage.url, "--token", "t"]) == CALLER
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["code"] == "BATCH_NOT_FOUND"
    assert captured.err == ""


def test_a_batch_that_waits_for_an_approval_is_not_said_to_go_on(
    stage: FakeEndpoint, commands: str, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.refusal = {"code": "APPROVAL_REQUIRED", "message": "Nothing has run.", "hint": "", "details": {}}
    assert run(["batch", commands, "--watch", "--url", stage.url, "--token", "t"]) == USER
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["code"] == "APPROVAL_REQUIRED"
    assert "continues without" not in captured.err


def test_a_failed_poll_is_repeated(stage: FakeEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
    stage.outages = 2
    assert run(["batch", "--id", BATCH, "--watch", "--url", stage.url, "--token", "t"]) == 0
    assert "done with errors, 2 of 2 steps" in capsys.readouterr().err


def test_a_long_outage_of_the_endpoint_ends_the_watching_and_not_the_batch(
    stage: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.outages = 1_000
    assert run(["batch", "--id", BATCH, "--watch", "--url", stage.url, "--token", "t"]) == TRY_AGAIN
    captured = capsys.readouterr()
    assert json.loads(captured.out)["error"]["code"] == "UPSTREAM_UNAVAILABLE"
    assert f"mcpist batch --id {BATCH} --watch" in captured.err


def test_a_batch_is_resumed_and_confirmed_by_its_arguments(
    stage: FakeEndpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint = ("--url", stage.url, "--token", "t")
    assert run(["batch", "--resume", BATCH, "--again", "send", "--again", "book", "--confirm", *endpoint]) == 0
    assert stage.asked == [
        {"resume": BATCH, "dry_run": False, "confirm": True, "again": ["send", "book"], **WHOLE_ANSWER}
    ]
    assert capsys.readouterr().err == ""


# -- Ctrl-C --------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_the_batch_running_and_prints_how_to_continue(endless: FakeEndpoint, commands: str) -> None:
    pipe = subprocess.PIPE
    with started(endless, commands, "--watch", stdout=pipe, stderr=pipe) as process:
        assert process.stderr
        assert process.stdout
        said = [process.stderr.readline() for _ in range(3)]
        assert "page: running" in said[-1]
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(COMMAND_TIMEOUT_SECONDS) == 130
        assert process.stdout.read() == ""
    assert f"mcpist batch --id {BATCH} --watch" in rest
    assert f"mcpist timeline {BATCH}" in rest
    assert "Traceback" not in rest
    assert len(endless.asked) == 1


# -- on a terminal -------------------------------------------------------------------------------------


def test_a_terminal_gets_a_live_table(endless: FakeEndpoint, commands: str) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with started(endless, commands, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        seen = until(ours, "3/12")
        process.send_signal(signal.SIGINT)
        seen += until(ours, "mcpist timeline")
        assert process.wait(COMMAND_TIMEOUT_SECONDS) == 130
    os.close(ours)
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", seen)
    assert re.search(rf"batch {BATCH}: running, 1 of 2 steps, \d\.\d s", plain)
    assert re.search(r"find +rag\.find +✓ succeeded +0\.7 s", plain)
    assert re.search(r"page +rag\.page +. running +\d+\.\d s +3/12", plain)
    assert "waits for find" in plain


def until(terminal: int, words: str) -> str:
    """What a terminal shows until it has shown these words."""
    seen, deadline = b"", time.monotonic() + COMMAND_TIMEOUT_SECONDS
    while words.encode() not in seen and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            seen += os.read(terminal, 65_536)
    assert words.encode() in seen, seen
    return seen.decode()


def test_a_small_terminal_keeps_the_rows_that_matter() -> None:
    steps: list[Json] = [step(f"s{number}", "succeeded", at=(0, 1)) for number in range(30)]
    steps += [
        step("late", "waiting", waits=("slow",)),
        step("slow", "running", at=(1,)),
        step("bad", "failed", at=(0, 1)),
    ]
    seen = StringIO()
    console = Console(file=seen, width=80, height=8, force_terminal=True, color_system=None)
    progress = Progress.model_validate(scene(2, *steps))
    console.print(LiveTable(console).drawn(progress, progress.now))
    rows = [line.split()[:2] for line in seen.getvalue().splitlines()[2:]]
    assert rows == [["s0", "rag.s0"], ["late", "rag.late"], ["slow", "rag.slow"], ["bad", "rag.bad"], ["and", "29"]]


def test_steps_kept_from_a_resumed_batch_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    done = scene(1.0, step("find", "succeeded", kept=True), step("page", "succeeded", "find", at=(0.2, 0.9)), done=True)
    with serving_scenes(done) as stage:
        assert run(["batch", "--resume", BATCH, "--watch", "--url", stage.url, "--token", "t"]) == 0
    assert "find: succeeded before\n" in capsys.readouterr().err
