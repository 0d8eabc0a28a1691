"""A person agrees to what a batch destroys, in a client that nobody here wrote."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any, Literal

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from infra.local.house import ORGANIZATION, ROLE, House
from infra.local.operating import operating
from mcpist import directory
from mcpist.caller import Role
from tests.whole.conftest import MODULES, Visitor
from tests.whole.test_grants import CANARIES, connect, forget, tell_broker

LINES = """\
{"id":"drop","module":"rag","tool":"delete_doc","params":{"path":"agreement.md"},"output":true}
{"id":"file","module":"github","tool":"delete_file","after":["drop"],"params":{"owner":"o","repo":"r","path":"a.md",\
"sha":"0000000000000000000000000000000000000000","message":"Remove a.md"}}"""


@pytest.fixture
def person(house: House, user: Visitor) -> Iterator[Visitor]:
    """Uma, who may destroy for once, with an account at GitHub."""
    with operating(house.aws):
        before = _role()
        may = Role(ROLE, modules=MODULES, allow=(*before.allow, "rag.*", "github.delete_file"), destructive=True)
        directory.put_role(ORGANIZATION, may)
    connect(house, "github", CANARIES[0], account_name="uma-at-github")
    yield user
    tell_broker(user, "revoke", service="github")
    with operating(house.aws):
        directory.put_role(ORGANIZATION, before)
    forget(house)


def _role() -> Role:
    return directory.read(ORGANIZATION).roles[ROLE]


def asked(
    person: Visitor, action: Literal["accept", "decline"], **arguments: Any
) -> tuple[CallToolResult, list[ElicitRequestParams]]:
    """A batch's result, and the questions that the client's person was asked meanwhile."""
    questions: list[ElicitRequestParams] = []

    async def answer(_: Any, question: ElicitRequestParams) -> ElicitResult:
        questions.append(question)
        return ElicitResult(action=action, content={"confirm": True} if action == "accept" else None)

    async def ask() -> CallToolResult:
        headers = {"authorization": f"Bearer {person.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(person.house.mcp_url, http_client=http), elicitation_callback=answer) as one,
        ):
            return await one.call_tool("batch", arguments)

    return asyncio.run(ask()), questions


def test_what_a_person_agrees_to_runs_after_one_question_that_names_tools_targets_and_accounts(
    person: Visitor,
) -> None:
    person.texts("call", module="rag", tool="put_doc", params={"path": "agreement.md", "content": "# Agreement"})
    declined, questions = asked(person, "decline", commands=LINES)
    assert declined.is_error
    assert len(questions) == 1
    accepted, (question,) = asked(person, "accept", commands=LINES)
    assert 'line 1, drop: rag.delete_doc {"path":"agreement.md"}' in question.message
    assert "line 2, file: github.delete_file" in question.message
    assert "(account: uma-at-github)" in question.message
    summary, dropped, *_ = [block.text for block in accepted.content if isinstance(block, TextContent)]
    assert "drop succeeded" in summary
    assert "agreement.md" in dropped
    gone = person.call("call", module="rag", tool="get_doc", params={"path": "agreement.md"})
    assert json.loads(gone.content[0].text)["code"] == "FILE_NOT_FOUND"
