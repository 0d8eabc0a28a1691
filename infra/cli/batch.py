"""`mcpist batch`: run a batch or fetch one, and watch it meanwhile."""

import argparse
import asyncio
import sys
import time
from typing import Any, TextIO

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from infra.cli.document import Done
from infra.cli.endpoint import Endpoint, Session
from infra.cli.faces import Face, face
from infra.cli.progress import read, uri
from infra.cli.texts import text_of

FIRST_POLL_SECONDS = 0.2
SLOWEST_POLL_SECONDS = 1.0
POLL_GROWTH = 1.2
MOST_MISSED = 5  # answers in a row, while a gateway or a store is unwell

GO_ON = """\
{batch} goes on without this command:
  mcpist batch --id {batch} --watch    follow it again
  mcpist batch --id {batch}            fetch what it brings
  mcpist timeline {batch}              see who waited for what"""


def batch(options: argparse.Namespace) -> Done:
    """What the endpoint answers in the end."""
    endpoint = Endpoint.chosen(options.url, options.token)
    asked = arguments(options)
    if not options.watch or options.dry_run:
        return endpoint.call("batch", asked)
    return Watch(sys.stderr).run(endpoint, asked)


def arguments(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of the meta-tool; those that were not given are left to the endpoint."""
    if options.id:
        return {"batch_id": options.id}
    given: dict[str, Any] = {"resume": options.resume} if options.resume else {"commands": text_of(options.file)}
    given["dry_run"] = options.dry_run
    more = {"timeout": options.timeout, "confirm": options.confirm, "again": options.again}
    return given | {name: value for name, value in more.items() if value}


class Watch:
    """Follows one batch; when that ends early, for whatever reason, it says how to go on."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._batch = ""

    def run(self, endpoint: Endpoint, asked: dict[str, Any]) -> Done:
        """Start or take up a batch, show it until it is done, and give what it brings."""
        try:
            return endpoint.ask(lambda session: self._follow(session, asked), tasks=True)
        except BaseException:
            if self._batch:
                print(GO_ON.format(batch=self._batch), file=self._out, flush=True)
            raise

    async def _follow(self, session: Session, asked: dict[str, Any]) -> Done:
        begun = asked.get("batch_id") or await session.begin("batch", asked)
        if isinstance(begun, Done):
            return begun
        self._batch = begun
        with face(self._out) as shown:
            await self._until_done(session, shown)
        done = await session.call("batch", {"batch_id": begun})
        self._batch = ""
        return done

    async def _until_done(self, session: Session, shown: Face) -> None:
        pause, missed = FIRST_POLL_SECONDS, 0
        while True:
            began = time.monotonic()
            try:
                progress = read(await session.read(uri(self._batch)))
            except (MCPError, httpx2.HTTPError) as error:
                missed += 1
                if _is_final(error) or missed > MOST_MISSED:
                    raise
            else:
                missed = 0
                shown.show(progress)
                if progress.done:
                    return
            # An endpoint that takes long to tell is asked less often.
            await asyncio.sleep(max(pause, time.monotonic() - began))
            pause = min(pause * POLL_GROWTH, SLOWEST_POLL_SECONDS)


def _is_final(error: Exception) -> bool:
    """Whether the endpoint says that we asked for the wrong thing: asking again brings the same."""
    return isinstance(error, MCPError) and error.code == INVALID_PARAMS
