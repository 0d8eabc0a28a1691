"""A process that has upstreams configured, with scripted ones whose tools a test can change."""

import io
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcpist import settings
from mcpist.aws import clients
from mcpist.errors import McpistError, to_message
from mcpist.memory import forget_entries
from mcpist_services.catalogue import has_upstreams
from mcpist_services.upstream.configuration import configuration
from mcpist_services.upstream.connections import upstreams
from program_runner.handler import perform
from program_runner.sessions import sessions

SCRIPTED = Path(__file__).with_name("scripted.py")
READS, WRITES = {"readOnlyHint": True}, {"readOnlyHint": False, "destructiveHint": False}


@dataclass(frozen=True)
class Upstreams:
    """The configured file, and the scripts of its servers."""

    folder: Path

    def scripted(self, name: str, **script: Any) -> dict[str, Any]:
        """The configuration of a server that follows this script."""
        self.say(name, **script)
        arguments = [str(SCRIPTED), str(self._file(name))]
        return {"description": f"The server {name}", "command": sys.executable, "args": arguments}

    def say(self, name: str, **script: Any) -> None:
        """From now on a server says this."""
        self._file(name).write_text(json.dumps(script), "utf-8")

    def break_server(self, name: str) -> None:
        """End a server, and let it not come up again."""
        self._file(name).unlink()
        upstreams().close()
        upstreams.cache_clear()
        forget_sessions()

    def configure(self, servers: Mapping[str, Any], categories: Mapping[str, Any] | None = None) -> Path:
        """Configure these; the process begins anew with them."""
        file = self.folder / "upstreams.json"
        file.write_text(json.dumps({"mcpServers": dict(servers), "categories": dict(categories or {})}), "utf-8")
        reset_upstreams()
        return file

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"


@contextmanager
def configured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Upstreams]:
    """Upstreams of one test, ended with it."""
    monkeypatch.setenv("UPSTREAMS", str(folder / "upstreams.json"))
    yield Upstreams(folder)
    monkeypatch.undo()
    reset_upstreams()


def reset_upstreams() -> None:
    """What a new sandbox has: no connection, and nothing in memory."""
    upstreams().close()
    forget_sessions()
    for kept in (settings.settings, configuration, has_upstreams, upstreams):
        kept.cache_clear()
    forget_entries()
    serve_runner()


def serve_runner() -> None:
    """Let this process's program runner answer what the doors of this process ask it."""
    clients.session().register("before-call.lambda.Invoke", _answer, unique_id="program runner")


def _answer(params: dict[str, Any], **_: Any) -> Any:
    message = json.loads(params["body"])
    if message.get("operation") not in {"ask", "run"}:
        return None
    try:
        answer = {"result": perform(message)}
    except McpistError as error:
        answer = {"error": to_message(error)}
    payload = {"Payload": io.BytesIO(json.dumps(answer).encode()), "ResponseMetadata": {"RequestId": "i1"}}
    return type("Response", (), {"status_code": 200}), payload


def forget_sessions() -> None:
    """End the sessions with stdio servers: the next request is another sandbox's."""
    sessions().close()
    sessions.cache_clear()
