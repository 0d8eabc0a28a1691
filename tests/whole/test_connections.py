"""Connecting in the middle of a call, and taking away again: real clients of both protocols, and the command line."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest
from mcp import MCPError
from mcp_types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    TextContent,
)

from infra.cli.main import run
from infra.cli.up_facts import facts_of
from infra.local.deployment import LocalDeployment
from tests.accounts import connect, disconnect, forget
from tests.whole.conftest import McpUser

GET_ME: dict[str, Any] = {"module": "github", "tool": "get_me"}
TOKEN = "uma-canary-token"


@pytest.fixture
def alone(deployment: LocalDeployment) -> Iterator[LocalDeployment]:
    """A deployment in which nobody has connected GitHub."""
    disconnect(deployment, "github")
    yield deployment
    disconnect(deployment, "github")


@pytest.fixture
def up(alone: LocalDeployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LocalDeployment:
    """The deployment as the last `mcpist up` of this folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".mcpist").mkdir()
    (tmp_path / ".mcpist/up.json").write_text(json.dumps(facts_of(alone)))
    return alone


def called(
    person: McpUser, answer: Callable[[ElicitRequestURLParams], Literal["accept", "decline"]], **arguments: Any
) -> tuple[CallToolResult, list[ElicitRequestURLParams]]:
    """A call's result, and the addresses that the client's person was asked to open meanwhile."""
    asked: list[ElicitRequestURLParams] = []

    async def opened(context: Any, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001
        assert isinstance(params, ElicitRequestURLParams)
        asked.append(params)
        return ElicitResult(action=await asyncio.to_thread(answer, params))

    return replace(person, answer=opened).call("call", **arguments), asked


def text_of(result: CallToolResult) -> str:
    block = result.content[0]
    assert isinstance(block, TextContent)
    return block.text


def link(deployment: LocalDeployment, service: str = "github") -> str:
    return f"{deployment.aws.api_url}/connect/{service}?organization=demo&user=uma"


def test_a_call_without_an_account_asks_its_person_and_runs_once_one_stands(
    alone: LocalDeployment, user: McpUser
) -> None:
    def person(_: ElicitRequestURLParams) -> Literal["accept"]:
        connect(alone, "github", TOKEN)
        return "accept"

    result, (asked,) = called(user, person, **GET_ME)
    assert (asked.url, asked.message) == (link(alone), "No github account is connected.")
    assert not result.is_error
    assert "uma-at-github" in text_of(result)


def test_a_person_who_will_not_connect_leaves_the_model_an_error_with_the_link(
    alone: LocalDeployment, user: McpUser
) -> None:
    result, asked = called(user, lambda _: "decline", **GET_ME)
    error = json.loads(text_of(result))
    assert (result.is_error, error["code"], len(asked)) == (True, "CONNECTION_REQUIRED", 1)
    assert link(alone) in error["hint"]


def test_an_account_that_is_refused_is_connected_again_in_the_middle_of_the_call(
    alone: LocalDeployment, user: McpUser
) -> None:
    connect(alone, "github", "refused-by-github")

    def person(_: ElicitRequestURLParams) -> Literal["accept"]:
        connect(alone, "github", TOKEN)
        return "accept"

    result, (asked,) = called(user, person, **GET_ME)
    assert asked.url == link(alone)
    assert "uma-at-github" in text_of(result)


def test_a_client_of_the_protocol_before_that_opens_no_addresses_reads_the_link(
    alone: LocalDeployment, user: McpUser
) -> None:
    result = replace(user, mode="legacy").call("call", **GET_ME)
    assert result.is_error
    assert link(alone) in text_of(result)


def test_a_client_of_the_protocol_before_that_opens_addresses_is_told_by_its_error_and_its_retry_succeeds(
    alone: LocalDeployment, user: McpUser
) -> None:
    async def answer(_: Any, __: Any) -> ElicitResult:
        raise AssertionError("the server asked a client that waits for no question")

    visitor = replace(user, mode="legacy", answer=answer)
    with pytest.RaisesGroup(MCPError, flatten_subgroups=True, allow_unwrapped=True) as raised:
        visitor.call("call", **GET_ME)
    error = _innermost(raised.value)
    assert isinstance(error, MCPError)
    assert error.code == -32042
    assert error.data["elicitations"][0]["url"] == link(alone)
    assert link(alone) in error.message
    connect(alone, "github", TOKEN)
    assert "uma-at-github" in visitor.texts("call", **GET_ME)[0]


def _innermost(error: BaseException) -> BaseException:
    return _innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def test_a_step_without_an_account_names_the_link_in_the_report(alone: LocalDeployment, user: McpUser) -> None:
    _, block = user.texts("batch", commands=[{"id": "me", **GET_ME, "output": True}])
    error = json.loads(block.splitlines()[1])
    assert error["code"] == "CONNECTION_REQUIRED"
    assert link(alone) in error["hint"]


def test_every_result_names_the_account_that_acted(alone: LocalDeployment, user: McpUser) -> None:
    connect(alone, "github", TOKEN)
    assert (user.call("call", **GET_ME).meta or {})["mcpist/account"] == "uma-at-github"
    steps = [
        {"id": "me", **GET_ME, "output": True},
        {"id": "tags", "module": "rag", "tool": "list_tags", "output": True},
    ]
    _, me, tags = user.texts("batch", commands=steps)
    assert me.splitlines()[0] == "me: succeeded (account: uma-at-github)"
    assert tags.splitlines()[0] == "tags: succeeded"


def test_a_permission_that_was_not_granted_is_named_and_found_once_it_is(alone: LocalDeployment, user: McpUser) -> None:
    connect(alone, "github", TOKEN, scopes=("read:user",))

    def person(_: ElicitRequestURLParams) -> Literal["accept"]:
        connect(alone, "github", TOKEN, scopes=("repo", "read:user"))
        return "accept"

    result, (asked,) = called(user, person, module="github", tool="list_notifications")
    assert asked.message == "The github account lacks the permission notifications."
    assert asked.url == link(alone)
    assert "SCOPE_MISSING" not in text_of(result)


# -- the command line -----------------------------------------------------------------------------------


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """A command's facts."""
    code = run(list(arguments))
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert code == 0, document
    facts: dict[str, Any] = document["metadata"]
    return facts


def test_what_is_killed_is_gone_for_every_new_sandbox_and_proved(
    up: LocalDeployment, user: McpUser, capsys: pytest.CaptureFixture[str]
) -> None:
    connect(up, "github", TOKEN)
    (row,) = command(capsys, "grant", "list", "--service", "github")["grants"]
    assert (row["owner"], row["account_name"]) == ("user#uma", "uma-at-github")
    user.texts("call", **GET_ME)
    began = time.time()
    killed = command(capsys, "grant", "kill", "--user", "uma")["killed"]
    (proof,) = [one for one in killed if one["services"] == ["github"]]
    assert (proof["owner"], proof["deleted"]) == ("user#uma", True)
    assert proof["forgotten_by"] - began < 70
    forget(up)
    assert json.loads(text_of(user.call("call", **GET_ME)))["code"] == "CONNECTION_REQUIRED"
    rows = command(capsys, "audit", "--service", "github", "--since", "10m")["rows"]
    assert [(row["user"], row["event"], row["account"], row["outcome"]) for row in rows[:3]] == [
        ("uma", "use", "", "CONNECTION_REQUIRED"),
        ("ada", "kill", "uma-at-github", "failed"),
        ("uma", "use", "uma-at-github", "succeeded"),
    ]


def test_what_is_sealed_anew_opens_as_before(
    up: LocalDeployment, user: McpUser, capsys: pytest.CaptureFixture[str]
) -> None:
    connect(up, "github", TOKEN)
    facts = command(capsys, "grant", "reencrypt")
    assert facts["resealed"] >= 1
    assert facts["failed"] == []
    forget(up)
    assert "uma-at-github" in user.texts("call", **GET_ME)[0]


def test_a_user_revokes_their_own(up: LocalDeployment, capsys: pytest.CaptureFixture[str]) -> None:
    connect(up, "github", TOKEN)
    assert command(capsys, "grant", "revoke", "github")["revoked"] is True
    assert command(capsys, "grant", "revoke", "github")["revoked"] is False
