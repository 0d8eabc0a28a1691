"""The timeline of a batch: which step waited for which, and the critical path."""

import json
import pty
from collections.abc import Iterator
from os import fdopen

import pytest

from infra.cli.document import CALLER, CommandDocument, CommandResult
from infra.cli.main import run
from infra.cli.progress import render_timeline
from mcpist.batch.timeline import Progress, critical_path, timeline_rows
from tests.infra.cli.fake_endpoint import BATCH, FakeEndpoint, scene, serving_scenes, step

# `tags` runs beside; `page` waits for `find`, `book` for both, and `send` is skipped with the failed `book`.
FINISHED = scene(
    9.0,
    step("find", "succeeded", at=(0.1, 1.0)),
    step("tags", "succeeded", at=(0.1, 0.5)),
    step("page", "succeeded", "find", at=(1.2, 3.0)),
    step("book", "failed", "page", "tags", at=(3.1, 4.0)),
    step("send", "skipped", "book", at=()),
    done=True,
)
FINISHED["steps"][4]["ended_at"] = FINISHED["started_at"] + 4.1


@pytest.fixture
def finished() -> Progress:
    return Progress.model_validate(FINISHED)


@pytest.fixture
def stage() -> Iterator[FakeEndpoint]:
    with serving_scenes(FINISHED) as stage:
        yield stage


def test_each_step_waited_for_the_need_that_ended_last(finished: Progress) -> None:
    lines = {line.id: line for line in timeline_rows(finished)}
    assert {id_: line.after for id_, line in lines.items()} == {
        "find": "",
        "tags": "",
        "page": "find",
        "book": "page",
        "send": "book",
    }
    assert lines["page"].opened == pytest.approx(1.0)
    assert lines["page"].waited == pytest.approx(0.2)
    assert lines["send"].started is None


def test_the_critical_path_leads_from_the_start_to_the_last_end(finished: Progress) -> None:
    assert critical_path(finished) == ["find", "page", "book", "send"]
    assert [line.id for line in timeline_rows(finished) if line.critical] == ["find", "page", "book", "send"]


def test_the_drawing_holds_a_bar_for_each_step(finished: Progress) -> None:
    assert render_timeline(finished, timeline_rows(finished), columns=100).splitlines() == [
        f"batch {BATCH}: done with errors, 5 of 5 steps, 4.10 s; critical path: find -> page ->",
        "  book -> send",
        "   step  tool      state      opened  began  ended  after  0                                  4.10 s",
        "*  find  rag.find  succeeded  0.00    0.10   1.00          ·█████████",
        "   tags  rag.tags  succeeded  0.00    0.10   0.50          ·████",
        "*  page  rag.page  succeeded  1.00    1.20   3.00   find             ··██████████████████",
        "*  book  rag.book  failed     3.00    3.10   4.00   page                                 ·█████████",
        "*  send  rag.send  skipped    4.00           4.10   book                                           |",
    ]


def test_a_running_batch_is_drawn_up_to_now() -> None:
    progress = Progress.model_validate(
        scene(2.0, step("find", "running", at=(0.5,)), step("page", "waiting", "find", waits=("find",), at=()))
    )
    lines = timeline_rows(progress)
    assert critical_path(progress) == []
    assert (lines[0].ended, lines[1].opened) == (None, None)
    assert "running, 0 of 2 steps, 2.00 s" in render_timeline(progress, lines, columns=100)


def test_a_step_kept_from_the_batch_that_this_one_resumes_has_no_times() -> None:
    progress = Progress.model_validate(
        scene(2.0, step("find", "succeeded", kept=True), step("page", "succeeded", "find", at=(0.5, 1.5)), done=True)
    )
    kept, page = timeline_rows(progress)
    assert (kept.started, kept.ended, page.after) == (None, None, "")
    assert page.opened == 0.0
    assert critical_path(progress) == ["page"]


def test_the_command_gives_programs_the_facts(stage: FakeEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["timeline", BATCH, "--url", stage.url, "--token", "t"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metadata"]["critical"] == ["find", "page", "book", "send"]
    assert document["metadata"]["seconds"] == 4.1
    assert document["metadata"]["steps"][2] == {
        "id": "page",
        "tool": "rag.page",
        "state": "succeeded",
        "after": "find",
        "opened": 1.0,
        "started": 1.2,
        "ended": 3.0,
        "critical": True,
    }
    assert "critical path" in " ".join(document["metadata"]["texts"][0].split())


def test_a_missing_batch_is_a_typed_error(stage: FakeEndpoint, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["timeline", "b_none", "--url", stage.url, "--token", "t"]) == CALLER
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "BATCH_NOT_FOUND"


def test_a_terminal_gets_the_drawing_and_no_document() -> None:
    ours, theirs = pty.openpty()
    with fdopen(ours, "r") as seen, fdopen(theirs, "w") as terminal:
        CommandDocument(["timeline"], out=terminal).succeed(CommandResult(["bars"], {"facts": 1}, drawing="bars"))
        assert seen.readline() == "bars\n"
