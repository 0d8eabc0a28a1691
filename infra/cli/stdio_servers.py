"""Stdio MCP servers as this command's own child processes, in the way in which the program runner has them."""

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from infra.local.tool_path import tool_path
from mcpist.programs.messages import ServerRequest
from mcpist_services.upstream.requests import Ask

FUNCTIONS = Path(__file__).resolve().parents[2] / "functions"


@contextmanager
def stdio_servers() -> Iterator[Ask]:
    """Start the servers that are asked for, with this command's HOME and folder, and end them with the context."""
    os.environ["PATH"] = tool_path()
    sys.path.insert(0, str(FUNCTIONS))
    from program_runner.servers.sessions import Sessions  # the functions are no packages of this environment

    with closing(Sessions(None, str(Path.cwd()))) as sessions:

        def ask(request: ServerRequest, *, deadline: float) -> bytes:  # noqa: ARG001 - the request says it, too
            return sessions.ask(request)

        yield ask
