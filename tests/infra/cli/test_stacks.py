"""Several stacks in one folder, and the files of each."""

import json
from pathlib import Path

import pytest

from infra.cli.document import CommandError
from infra.cli.main import run
from infra.cli.stacks import LocalStack, choose_stack, chosen_stack, known_stacks


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, object]]:
    assert run([*arguments, "ps"]) == 0
    return {stack["stack"]: stack for stack in json.loads(capsys.readouterr().out)["metadata"]["stacks"]}


@pytest.mark.usefixtures("nowhere")
def test_stacks_are_listed_with_what_they_keep_while_they_run_and_afterwards(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert shown(capsys) == {}
    for stack in (LocalStack(), LocalStack("second")):
        with stack.held():
            stack.state_file.write_bytes(b"x" * 1000)
            stack.facts_file.write_text(json.dumps({"mcp_url": f"http://{stack.name}/mcp", "pid": 7}))
            one = shown(capsys)[stack.name]
            assert (one["state"], one["mcp_url"], one["pid"]) == ("running", f"http://{stack.name}/mcp", 7)
    stopped = {"state": "stopped", "mcp_url": "", "pid": None, "kept_bytes": 1000}
    assert shown(capsys) == {name: {"stack": name, **stopped} for name in ("default", "second")}


@pytest.mark.usefixtures("nowhere")
def test_a_stack_runs_once_at_a_time() -> None:
    stack = LocalStack("second")
    with stack.held():
        stack.facts_file.write_text(json.dumps({"mcp_url": "http://127.0.0.1:1/mcp"}))
        with pytest.raises(CommandError, match=r"second of this folder already runs at http://127\.0\.0\.1:1/mcp"):
            stack.held().__enter__()
        with LocalStack().held():
            assert stack.runs
    assert not stack.runs
    with stack.held():
        pass


def test_the_commands_act_on_the_stack_of_the_command_line(
    nowhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown(capsys, "--stack", "second")
    assert chosen_stack().facts_file == Path(".mcpist/stacks/second/up.json")
    monkeypatch.setenv("MCPIST_STACK", "third")
    shown(capsys)
    assert chosen_stack() == LocalStack("third")
    monkeypatch.delenv("MCPIST_STACK")
    shown(capsys)
    assert chosen_stack().facts_file == Path(".mcpist/up.json")
    assert known_stacks() == []
    assert list(nowhere.iterdir()) == []


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "x" * 32])
def test_a_name_that_is_no_folder_is_refused(name: str) -> None:
    with pytest.raises(CommandError):
        choose_stack(name)
