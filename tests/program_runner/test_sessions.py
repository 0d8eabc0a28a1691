"""The sessions of one sandbox: whose they are, what they keep, and when they end."""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcpist.aws.attributes import unpack
from mcpist.errors import AnswerTooLarge, InvalidRequest, Timeout, ToolExecutionError
from mcpist.programs.messages import ServerRequest
from program_runner import sessions as module
from program_runner.handler import perform
from program_runner.process import has_namespaces
from program_runner.sessions import Sessions
from tests.program_runner.test_child import lives, wait_until_dead
from tests.upstreams.connected import faulty


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    made = Sessions(tmp_path / "homes", namespaces=False)
    yield made
    made.close()


def request(tool: str, organization: str = "acme", seconds: float = 30, **arguments: Any) -> ServerRequest:
    server = faulty()
    declaration = {"name": "one", "command": server.command, "arguments": server.args, "concurrency": 1}
    limits = {"timeout_seconds": 30, "result_bytes": 5_000_000}
    fields = {"organization": organization, "server": {**declaration, **limits}, "seconds": seconds}
    return ServerRequest.model_validate({**fields, "method": "call", "name": tool, "parameters": arguments})


def said(sessions: Sessions, tool: str, organization: str = "acme", **arguments: Any) -> str:
    answer = unpack(sessions.ask(request(tool, organization, **arguments)))
    return str(answer["content"][0]["text"])


def test_a_session_is_of_one_organization_and_lives_on(sessions: Sessions) -> None:
    acme, globex = said(sessions, "echo"), said(sessions, "echo", "globex")
    assert acme != globex
    assert (said(sessions, "echo"), said(sessions, "echo", "globex")) == (acme, globex)


def test_other_values_of_the_same_server_are_another_session(sessions: Sessions) -> None:
    first = said(sessions, "echo")
    asked = request("echo")
    other = asked.model_copy(update={"server": asked.server.model_copy(update={"environment": {"KEY": "b"}})})
    assert unpack(sessions.ask(other))["content"][0]["text"] != first


def test_each_organization_has_a_home_of_its_own(sessions: Sessions) -> None:
    homes = [json.loads(said(sessions, "environment", name))["HOME"] for name in ("acme", "globex", "../x")]
    assert len(set(homes)) == 3
    assert len({Path(home).parent for home in homes}) == 1


def test_the_sessions_of_others_end_with_what_they_kept(sessions: Sessions) -> None:
    acme, globex = int(said(sessions, "echo")), int(said(sessions, "echo", "globex"))
    homes = {name: Path(json.loads(said(sessions, "environment", name))["HOME"]) for name in ("acme", "globex")}
    (homes["acme"] / "note").write_text("kept")
    sessions.end_all_but("globex")
    wait_until_dead(acme)
    assert lives(globex)
    assert not homes["acme"].exists()
    assert homes["globex"].exists()
    sessions.end_all_but(None)
    wait_until_dead(globex)
    assert not homes["globex"].exists()


def test_the_longest_unused_session_ends_for_one_too_many(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_SESSIONS", 2)
    first = int(said(sessions, "echo", "a"))
    said(sessions, "echo", "b")
    said(sessions, "echo", "c")
    wait_until_dead(first)
    assert len(sessions._links) == 2


def test_an_answer_that_no_response_holds_is_too_large(sessions: Sessions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PACKED_BYTES", 40)
    with pytest.raises(AnswerTooLarge):
        said(sessions, "environment")


def test_a_request_ends_with_its_seconds(sessions: Sessions) -> None:
    said(sessions, "echo")
    with pytest.raises(Timeout) as raised:
        sessions.ask(request("hang", seconds=0.3))
    assert raised.value.details["may_have_happened"]


def test_lists_resources_and_prompts_are_the_servers(sessions: Sessions) -> None:
    listed = unpack(sessions.ask(request("").model_copy(update={"method": "list"})))
    assert "echo" in {tool["name"] for tool in listed["tools"]}
    for method in ("read", "prompt"):
        with pytest.raises(ToolExecutionError, match="-32601"):
            sessions.ask(request("file:///x").model_copy(update={"method": method}))


def test_nothing_is_ended_where_nothing_runs(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "none")
    sessions.end_all_but(None)
    sessions.close()
    assert Sessions(None)._home("acme") == Path.home()


@pytest.mark.skipif(not has_namespaces(), reason="this kernel gives an unprivileged process no namespaces")
def test_in_namespaces_a_server_sees_no_other_process(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path)
    assert int(said(sessions, "echo")) < 10 < os.getpid()
    sessions.close()


@pytest.mark.parametrize("namespaces", [True, False])
def test_without_namespaces_a_run_ends_all_sessions(
    namespaces: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a run ends, it removes: not from the folder of this machine, which other tests use at this moment.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module.sessions.cache_clear()
    perform(request("echo").model_dump(mode="json"), namespaces=lambda: namespaces)
    with pytest.raises(InvalidRequest):
        perform({"operation": "run", "organization": "acme", "program": "../x"})
    assert module.sessions()._links
    run = {"operation": "run", "organization": "acme", "program": "bin/none"}
    with pytest.raises(Exception, match="missing"):
        perform(run, namespaces=lambda: namespaces)
    assert bool(module.sessions()._links) is namespaces
    module.sessions().close()
    module.sessions.cache_clear()
