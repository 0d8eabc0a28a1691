"""The command line: one JSON document for every command, and an exit code that says how it went."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from infra.cli.document import ADMINISTRATOR, CALLER, DEFECT, TRY_AGAIN
from infra.cli.main import CLOSED_PIPE_CODE, run
from infra.source import ROOT
from mcpist.version import VERSION
from tests.clock import HANGING_SECONDS
from tests.core.loopback import json_response, serving
from tests.infra.cli.printed import printed

BATCH = """\
{"id":"find","module":"rag","tool":"search_docs","params":{"query":"schemathesis idempotency key","limit":3}}
{"id":"first","module":"rag","tool":"get_doc","params":{"path":"${find.items[0].path}"},"output":true}
{"id":"tags","module":"rag","tool":"list_tags","output":true}
"""


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = run(list(arguments))
    (line,) = capsys.readouterr().out.splitlines()
    return code, printed(line)


def test_a_plan_needs_no_server(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    (nowhere / "batch.jsonl").write_text(BATCH)
    code, document = command(capsys, "plan", "batch.jsonl")
    assert code == 0
    assert set(document) == {"success", "command", "timestamp", "execution_time_ms", "outputs", "metadata"}
    metadata = document["metadata"]
    assert [step["needs"] for step in metadata["steps"]] == [[], ["find"], []]
    assert metadata["machine"]["States"]["fork"]["Type"] == "Parallel"
    assert (metadata["form"], metadata["states"], metadata["depth"]) == ("machine", 9, 2)


def test_a_plan_names_the_line_that_is_wrong(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    (nowhere / "batch.jsonl").write_text('{"module":"rag","tool":"list_tags"}\n{"module":"rag","tool":"list_tag"}\n')
    code, document = command(capsys, "plan", "batch.jsonl")
    assert code == CALLER
    assert set(document) == {"success", "error", "command", "timestamp"}
    assert document["error"]["code"] == "TOOL_NOT_FOUND"
    assert document["error"]["details"]["line"] == 2
    assert "list_tags" in document["error"]["hint"]


def test_errors_are_in_japanese_with_its_locale(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    (nowhere / "batch.jsonl").write_text("")
    _, document = command(capsys, "--locale", "ja", "plan", "batch.jsonl")
    assert document["error"]["message"] == "バッチにステップがありません。"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["plan", "none.jsonl"], "FILE_NOT_FOUND"),
        (["nope"], "VALIDATION_ERROR"),
        (["call", "rag"], "VALIDATION_ERROR"),
        (["schema", "rag"], "VALIDATION_ERROR"),
        (["up", "--docs", "none"], "FILE_NOT_FOUND"),
        (["up", "--port", "99999"], "VALIDATION_ERROR"),
        (["up", "--host", "0.0.0.0"], "VALIDATION_ERROR"),  # noqa: S104 - which is refused
        (["up", "--port", "0", "--allow-origin", "nowhere"], "INTERNAL_ERROR"),
    ],
)
@pytest.mark.usefixtures("nowhere")
def test_a_command_that_cannot_run_says_so(capsys: pytest.CaptureFixture[str], arguments: list[str], code: str) -> None:
    exit_code, document = command(capsys, *arguments)
    assert exit_code == (DEFECT if code == "INTERNAL_ERROR" else CALLER)
    assert document["error"]["code"] == code
    assert document["error"]["hint"]


def test_an_unreachable_endpoint_is_a_typed_error(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
    code, document = command(capsys, "schema", "rag", "--url", url, "--token", "t")
    assert (code, document["error"]["code"]) == (TRY_AGAIN, "UPSTREAM_UNAVAILABLE")
    assert nowhere.exists()


def test_a_refused_token_is_named_as_such_and_an_address_that_is_no_endpoint_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refusal = {"code": "AUTHENTICATION_ERROR", "message": "A valid access token is needed.", "hint": "Log in again."}
    with serving() as service:
        service.reply_with(json_response({"error": refusal}, 401))
        refused = command(capsys, "schema", "rag", "--url", f"{service.url}/mcp", "--token", "t")[1]["error"]
        assert refused == {**refusal, "details": {}}
        service.reply_with(json_response({"message": "Not Found"}, 404))
        wrong = command(capsys, "schema", "rag", "--url", f"{service.url}/mc", "--token", "t")[1]["error"]
    assert (wrong["code"], wrong["hint"]) == ("UPSTREAM_UNAVAILABLE", "Is it the URL of an MCPist endpoint?")
    assert "/mc answered 404" in wrong["message"]


def test_an_endpoint_that_fails_is_not_taken_for_another_address(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as service:
        service.reply_with(json_response({"message": "Internal Server Error"}, 500))
        failed = command(capsys, "schema", "rag", "--url", f"{service.url}/mcp", "--token", "t")[1]["error"]
    assert "answered 500" in failed["message"]
    assert ".mcpist/logs" in failed["hint"]


def test_a_folder_in_which_nothing_can_be_written_is_named(capsys: pytest.CaptureFixture[str], nowhere: Path) -> None:
    (nowhere / ".mcpist").touch()
    code, document = command(capsys, "up", "--port", "0")
    assert (code, document["error"]["code"]) == (ADMINISTRATOR, "NOT_CONFIGURED")
    assert document["error"]["message"] == ".mcpist: File exists"
    assert "may write" in document["error"]["hint"]


@pytest.mark.parametrize("url", ["http://127.0.0.1:99999/mcp", "127.0.0.1:3000/mcp", "ftp://h/mcp", "http://"])
@pytest.mark.parametrize("line", [["schema", "rag"], ["audit"], ["login"]])
def test_a_text_that_is_no_url_is_refused_as_such(
    capsys: pytest.CaptureFixture[str], url: str, line: list[str]
) -> None:
    code, document = command(capsys, *line, "--url", url, *(() if line == ["login"] else ("--token", "t")))
    assert (code, document["error"]["code"]) == (CALLER, "VALIDATION_ERROR")
    assert url in document["error"]["message"]


def test_the_url_and_the_token_may_stand_before_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as service:
        service.reply_with(json_response({"code": "CONFLICT", "error": "x", "hint": ""}, 409))
        for line in (["call", "rag", "list_tags"], ["audit"], ["why", "rag.list_tags"]):
            command(capsys, "--url", f"{service.url}/mcp", "--token", "before", *line)
        command(capsys, "--url", "http://nowhere.example/mcp", "audit", "--url", service.url, "--token", "after")
    sent = [request.headers["authorization"] for request in service.received]
    assert sent == ["Bearer before"] * 3 + ["Bearer after"]


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    code, document = command(capsys, "--version")
    assert (code, document["metadata"]) == (0, {"version": VERSION})


def test_a_reader_that_closes_the_pipe_hears_no_complaint(nowhere: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    reader, writer = os.pipe()
    os.close(reader)
    arguments = [sys.executable, "-m", "infra.cli.main", "plan", str(ROOT / "examples/each.jsonl")]
    done = subprocess.run(arguments, cwd=nowhere, env=environment, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert (done.returncode, done.stderr) == (CLOSED_PIPE_CODE, b"")


@pytest.mark.parametrize(("host", "is_warned"), [("192.0.2.1", True), ("nowhere.example", True), ("127.0.0.2", False)])
@pytest.mark.usefixtures("nowhere")
def test_up_warns_where_other_machines_can_reach_it(
    capsys: pytest.CaptureFixture[str], host: str, is_warned: bool
) -> None:
    assert run(["up", "--host", host, "--allow-network", "--docs", "none"]) == CALLER  # it ends at the missing folder
    assert ("WARNING: on" in capsys.readouterr().err) == is_warned


@contextmanager
def up(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Run `mcpist up` in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.cli.main", "up", *arguments],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname()[1])


@pytest.mark.slow
def test_up_serves_the_other_commands_until_it_is_told_to_stop(nowhere: Path) -> None:
    with up(nowhere, "--port", free_port()) as process:
        assert process.stdout
        ready = json.loads(process.stdout.readline())["metadata"]
        assert {"mcp_url", "api_url", "issuer", "access_token", "organization", "user"} <= set(ready)
        remembered = nowhere / ".mcpist/up.json"
        assert remembered.stat().st_mode & 0o777 == 0o600
        asked = [sys.executable, "-m", "infra.cli.main", "batch", "--watch"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            asked, cwd=nowhere, env=environment, input=BATCH, capture_output=True, text=True, check=False
        )
        document = json.loads(done.stdout)
        assert document["success"], document
        assert "done, 3 of 3 steps" in document["metadata"]["texts"][0]
        assert document["metadata"]["texts"][1].startswith("first: succeeded\npath: ")
        sandboxes = descendants(process.pid)
        assert len(sandboxes) > 3
        process.send_signal(signal.SIGINT)
        assert process.wait(HANGING_SECONDS) == 0
        assert not remembered.exists()
        assert all(map(has_ended, sandboxes))


def test_a_busy_port_is_a_clear_error(nowhere: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, up(nowhere, "--port", str(taken.getsockname()[1])) as process:
        assert process.stdout
        document = json.loads(process.stdout.readline())
        assert document["error"]["code"] == "VALIDATION_ERROR"
        assert "--port" in document["error"]["hint"]
        assert process.wait(HANGING_SECONDS) == CALLER


def descendants(pid: int) -> list[int]:
    """The processes below a process."""
    statuses = [status for folder in Path("/proc").glob("[0-9]*") if (status := _status(folder))]
    children = [child for child, parent in statuses if parent == pid]
    return [*children, *(below for child in children for below in descendants(child))]


def _status(folder: Path) -> tuple[int, int] | None:
    """A process's id and its parent's, unless it has just ended."""
    try:
        fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
    except (OSError, ValueError):
        return None
    return int(fields["Pid"]), int(fields["PPid"])


def has_ended(pid: int) -> bool:
    """Whether a process has ended, or does within the time that a start may take."""
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([process], [], [], HANGING_SECONDS)[0])
    finally:
        os.close(process)
