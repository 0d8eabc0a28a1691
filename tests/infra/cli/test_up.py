"""What `mcpist up` says of the upstream servers once it is ready."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from infra.cli import up
from infra.cli.document import CALLER
from infra.cli.main import run
from infra.source import ROOT
from tests.core.loopback import json_response, serving

SERVER = {"description": "Notes", "command": "sh"}
GRANTED = {"description": "Mine", "type": "http", "url": "https://x.example.com", "headers": {"X-Key": "grant:mine"}}


def answer(text: Any, *, is_error: bool = False) -> Any:
    content = [{"type": "text", "text": json.dumps(text)}]
    return json_response({"jsonrpc": "2.0", "id": 1, "result": {"content": content, "isError": is_error}})


def test_it_says_which_servers_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(up, "UPSTREAM_PAUSE_SECONDS", 0)
    monkeypatch.setattr(up, "MAX_UPSTREAM_ATTEMPTS", 3)
    error = {"code": "UPSTREAM_UNAVAILABLE", "message": "notes is not available: no luck.", "hint": "", "details": {}}
    file = tmp_path / "upstreams.json"
    file.write_text(json.dumps({"mcpServers": {"notes": SERVER, "mine": GRANTED}}))
    with serving() as endpoint:
        deployment: Any = SimpleNamespace(mcp_url=f"{endpoint.url}/mcp", token=lambda: "t", read_upstreams=file)
        endpoint.reply_with(answer(error, is_error=True), answer({"modules": []}))
        up._report_upstreams(deployment, threading.Event())
        assert "the server notes answers (" in capsys.readouterr().err
        endpoint.reply_with(answer(error, is_error=True))
        up._report_upstreams(deployment, threading.Event())
        assert len(endpoint.received) == 3
        said = capsys.readouterr().err.splitlines()
    assert said == ["the server notes does not answer: notes is not available: no luck."]


def test_the_level_of_log_lines_is_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "loud")
    assert run(["up"]) == CALLER
    assert "LOG_LEVEL" in json.loads(capsys.readouterr().out)["error"]["message"]


def test_it_ends_without_taking_its_objects_apart(tmp_path: Path) -> None:
    script = (
        "import atexit, sys; from infra.cli import main, up; atexit.register(print, 'taken apart');"
        "up._serve = lambda *_: print('served'); sys.argv = ['mcpist', 'up']; main.main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    line = [sys.executable, "-c", script]
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "served\n"
