"""`mcpist batches` and `mcpist cancel`."""

import pytest

from infra.cli import batches as command
from infra.cli.progress import title
from infra.cli.rest_client import Access
from infra.local.login import LocalLogin
from mcpist.batch.execution.plan import plan
from mcpist.batch.execution.start import start
from mcpist.batch.timeline import Progress, StepProgress
from mcpist.caller import Subject
from mcpist.people import directory
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from tests.infra.cli.conftest import Mcpist
from tests.mcp_endpoint.ledger_driver import LedgerDriver

STEPS = [{"id": name, "module": "rag", "tool": "list_tags"} for name in ("one", "two")]


def started(login: LocalLogin, user: str = "uma") -> str:
    permissions = Permissions(directory.identify(Subject(login.issuer, user)), CATALOGUE)
    return start(plan(STEPS, permissions), permissions).batch


def test_batches_are_listed_and_cancelled(mcpist: Mcpist, login: LocalLogin) -> None:
    batch, others = started(login), started(login, "ada")
    (row,) = mcpist("batches")["batches"]
    assert (row["id"], row["state"], row["settled"], row["total"]) == (batch, "running", 0, 2)
    assert [row["id"] for row in mcpist("batches", "--everybody", "--limit", "1")["batches"]] == [others]
    assert mcpist("cancel", batch)["state"] == "cancelled"
    assert mcpist("cancel", "b_0123456789abcdef", fails=True)["code"] == "BATCH_NOT_FOUND"


@pytest.mark.usefixtures("mcpist")
def test_a_terminal_shows_what_ran_of_each_batch(login: LocalLogin) -> None:
    batch = started(login)
    assert command.list_batches(Access()).drawing.splitlines()[1].split()[:5] == [batch, "running", "0", "of", "2"]
    assert command.cancel(Access(), batch).drawing == f"batch {batch}: cancelled, 0 of 2 steps"
    _, row = command.list_batches(Access(), limit=1).drawing.splitlines()
    assert row.endswith("2 cancelled")
    driver = LedgerDriver(started(login))
    assert command.list_batches(Access(), limit=1).drawing.splitlines()[-1].startswith("more: --cursor ")
    driver.finish("one", "failed")
    driver.finish("two", raw=[])
    assert "done with errors  2 of 2 steps" in command.list_batches(Access(), limit=1).drawing


def test_a_cancelled_batch_does_not_say_that_all_its_steps_are_done() -> None:
    states = ("succeeded", *["cancelled"] * 15)
    steps = tuple(StepProgress(id=str(number), tool="rag.x", state=state) for number, state in enumerate(states))
    progress = Progress(batch="b_1", done=True, cancelled=True, started_at=1, now=2, steps=steps)
    assert title(progress) == "batch b_1: cancelled, 1 of 16 steps"
    failed = progress.model_copy(
        update={"cancelled": False, "steps": (steps[0], StepProgress(id="x", tool="rag.x", state="failed"))}
    )
    assert title(failed) == "batch b_1: done with errors, 2 of 2 steps"
    running = progress.model_copy(update={"done": False})
    assert title(running) == "batch b_1: being cancelled, 1 of 16 steps"
