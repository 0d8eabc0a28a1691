"""`mcpist batch`: run, fetch or watch a batch."""

import sys
import time
from dataclasses import replace
from typing import Annotated, Any, TextIO

from typer import Option

from infra.cli.document import CALLER, TRY_AGAIN, CommandError, CommandResult, exit_code
from infra.cli.endpoint import Endpoint
from infra.cli.options import BatchFile, Token, Url, text_of
from infra.cli.plan import draw_plan
from infra.cli.progress import LiveTable, ProgressLog, progress_view
from mcpist.batch.timeline import parse_progress, progress_uri
from mcpist.polling import Polling

POLLING = Polling(initial_seconds=0.2, max_seconds=1.0, growth=1.2)
MAX_FAILED_POLLS = 5  # in a row, as during an outage of a gateway or a store

CONTINUE_HINT = """\
{batch} continues without this command:
  mcpist batch --id {batch} --watch    watch it again
  mcpist batch --id {batch}            fetch its results
  mcpist timeline {batch}              see which step waited for which"""


def batch(
    file: BatchFile = "-",
    dry_run: Annotated[bool, Option("--dry-run", help="Check the batch and show its plan.")] = False,
    watch: Annotated[
        bool, Option("--watch", help="Show each step while the batch runs, as always on a terminal.")
    ] = False,
    timeout: Annotated[int | None, Option(metavar="SECONDS", help="End the batch after this time.")] = None,
    confirm: Annotated[bool, Option("--confirm", help="Run steps that destroy without a question.")] = False,
    batch_id: Annotated[str, Option("--id", metavar="ID", help="Fetch this batch.")] = "",
    resume: Annotated[str, Option(metavar="ID", help="Run the steps of this batch again that did not succeed.")] = "",
    again: Annotated[
        list[str] | None, Option(metavar="STEP", help="With --resume: also run this write of unknown outcome again.")
    ] = None,
    url: Url = None,
    token: Token = None,
) -> CommandResult:
    """Run, fetch or watch a batch."""
    request: dict[str, Any] = {"batch_id": batch_id}
    if not batch_id:
        optional = {"timeout": timeout, "confirm": confirm, "again": again}
        request = {"resume": resume} if resume else {"commands": text_of(file)}
        request |= {"dry_run": dry_run} | {name: value for name, value in optional.items() if value}
    endpoint = Endpoint.from_options(url, token)
    if dry_run:
        plan = endpoint.call("batch", request)
        return replace(plan, drawing=draw_plan(plan.texts[0]))
    if not watch and not sys.stderr.isatty():
        return endpoint.call("batch", request)
    return BatchWatcher(sys.stderr).run(endpoint, request)


class BatchWatcher:
    """Watches one batch; if that ends early, it prints how to continue."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._batch = ""

    def run(self, endpoint: Endpoint, request: dict[str, Any]) -> CommandResult:
        """Start or fetch a batch, show it until its end, and return its results."""
        try:
            with endpoint.connected():
                return self._follow(endpoint, request)
        # Ctrl-C too: the batch runs on without this command, and only here is its id known.
        except BaseException as error:
            if self._batch and not (isinstance(error, CommandError) and exit_code(error.error["code"]) == CALLER):
                print(CONTINUE_HINT.format(batch=self._batch), file=self._out, flush=True)
            raise

    def _follow(self, endpoint: Endpoint, request: dict[str, Any]) -> CommandResult:
        with progress_view(self._out) as shown:
            begun = request.get("batch_id") or endpoint.begin("batch", request)
            if isinstance(begun, CommandResult):
                return begun
            self._batch = begun
            self._until_done(endpoint, shown)
        done = endpoint.call("batch", {"batch_id": begun})
        # The results are here, so nobody needs to be told how to fetch them.
        self._batch = ""
        return done

    def _until_done(self, endpoint: Endpoint, shown: LiveTable | ProgressLog) -> None:
        failed_polls = 0
        for delay in POLLING.delays():
            began = time.monotonic()
            try:
                progress = parse_progress(endpoint.read(progress_uri(self._batch)))
            except CommandError as error:
                failed_polls += 1
                if exit_code(error.error["code"]) != TRY_AGAIN or failed_polls > MAX_FAILED_POLLS:
                    raise
            else:
                failed_polls = 0
                shown.show(progress)
                if progress.done:
                    return
            # Poll less often where each request takes longer.
            time.sleep(max(delay, time.monotonic() - began))
