"""`mcpist batch`: run, fetch or watch a batch."""

import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, TextIO

from typer import Option

from infra.cli.document import CALLER, TRY_AGAIN, CommandError, CommandResult, exit_code
from infra.cli.endpoint import WHOLE_ANSWER, Endpoint
from infra.cli.options import BatchFile, Token, Url, text_of
from infra.cli.plan import draw_plan
from infra.cli.progress import progress_view
from mcpist.batch.timeline import Progress, progress_uri
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
    request |= WHOLE_ANSWER
    endpoint = Endpoint.from_options(url, token)
    if dry_run:
        plan = endpoint.call("batch", request)
        return replace(plan, drawing=draw_plan(plan.texts[0]))
    if not watch and not sys.stderr.isatty():
        return endpoint.call("batch", request)
    return _watch(endpoint, request, sys.stderr)


def _watch(endpoint: Endpoint, request: dict[str, Any], out: TextIO) -> CommandResult:
    """Start or fetch a batch, show it until its end, and return its results; else print how to continue."""
    batch = ""
    try:
        with endpoint.session.connected():
            with progress_view(out) as show:
                begun = endpoint.begin("batch", request)  # which also starts one that a person has approved meanwhile
                if isinstance(begun, CommandResult) and not request.get("batch_id"):
                    return begun
                batch = request.get("batch_id") or str(begun)
                for progress in _poll(endpoint, batch):
                    show(progress)
            return endpoint.call("batch", {"batch_id": batch, **WHOLE_ANSWER})
    # Ctrl-C too: the batch runs on without this command, and only here is its id known.
    except BaseException as error:
        code = error.error["code"] if isinstance(error, CommandError) else ""
        if batch and code != "APPROVAL_REQUIRED" and not (code and exit_code(code) == CALLER):
            print(CONTINUE_HINT.format(batch=batch), file=out, flush=True)
        raise


def _poll(endpoint: Endpoint, batch: str) -> Iterator[Progress]:
    """Yield a batch's progress until it is done."""
    failed_polls = 0
    for delay in POLLING.delays():
        began = time.monotonic()
        try:
            progress = Progress.model_validate(endpoint.read(progress_uri(batch)))
        except CommandError as error:
            failed_polls += 1
            if exit_code(error.error["code"]) != TRY_AGAIN or failed_polls > MAX_FAILED_POLLS:
                raise
        else:
            failed_polls = 0
            yield progress
            if progress.done:
                return
        # Poll less often where each request takes longer.
        time.sleep(max(delay, time.monotonic() - began))
