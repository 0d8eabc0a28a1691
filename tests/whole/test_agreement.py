"""A person agrees to what a batch destroys, in a client that nobody here wrote."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import anyio
import pytest
from mcp_types import CallToolResult, ElicitRequestParams, ElicitResult, TextContent

from infra.local.demo import ORGANIZATION, ROLE
from infra.local.deployment import LocalDeployment, operating
from mcpist.caller import Role
from mcpist.people import directory
from tests import members
from tests.accounts import connect, disconnect, forget
from tests.whole.conftest import MODULES, McpUser

LINES = """\
{"id":"drop","module":"rag","tool":"delete_doc","params":{"path":"agreement.md"},"output":true}
{"id":"file","module":"github","tool":"delete_file","after":["drop"],"params":{"owner":"o","repo":"r","path":"a.md",\
"sha":"0000000000000000000000000000000000000000","message":"Remove a.md"}}"""


@pytest.fixture
def person(deployment: LocalDeployment, user: McpUser) -> Iterator[McpUser]:
    """Uma, who may destroy for once, with an account at GitHub."""
    with operating(deployment.aws):
        before = _role()
        may = Role(ROLE, modules=MODULES, allow=(*before.allow, "rag.*", "github.delete_file"), destructive=True)
        members.put_role(ORGANIZATION, may)
    connect(deployment, "github", "uma-canary-token")
    forget(deployment)
    yield user
    with operating(deployment.aws):
        members.put_role(ORGANIZATION, before)
    disconnect(deployment, "github")


def _role() -> Role:
    return directory.read(ORGANIZATION).roles[ROLE]


def asked(
    person: McpUser, action: Literal["accept", "decline"], **arguments: Any
) -> tuple[CallToolResult, list[ElicitRequestParams]]:
    """A batch's result, and the questions that the client's person was asked meanwhile."""
    questions: list[ElicitRequestParams] = []

    async def answer(_: Any, question: ElicitRequestParams) -> ElicitResult:
        questions.append(question)
        return ElicitResult(action=action, content={"confirm": True} if action == "accept" else None)

    return replace(person, answer=answer).call("batch", **arguments), questions


def test_what_a_person_agrees_to_runs_after_one_question_that_names_tools_targets_and_accounts(
    person: McpUser,
) -> None:
    person.texts("call", module="rag", tool="put_doc", params={"path": "agreement.md", "content": "# Agreement"})
    declined, questions = asked(person, "decline", commands=LINES)
    assert declined.is_error
    assert len(questions) == 1
    accepted, (question,) = asked(person, "accept", commands=LINES)
    assert 'line 1, drop: rag.delete_doc {"path":"agreement.md"}' in question.message
    assert "line 2, file: github.delete_file" in question.message
    assert '(account: "uma-at-github")' in question.message
    summary, dropped, *_ = [block.text for block in accepted.content if isinstance(block, TextContent)]
    assert "drop succeeded" in summary
    assert "agreement.md" in dropped
    forget(person.deployment)  # what the question has read is fresh for some seconds
    gone = person.call("call", module="rag", tool="get_doc", params={"path": "agreement.md"})
    assert json.loads(gone.content[0].text)["code"] == "FILE_NOT_FOUND"


EACH = """\
{"id":"find","module":"rag","tool":"list_docs","params":{"folder":"agreed/"}}
{"id":"all","module":"rag","tool":"delete_doc","each":"${find.items}","params":{"path":"${each.path}"},"output":true}"""


def put(person: McpUser, *names: str) -> None:
    for name in names:
        person.texts("call", module="rag", tool="put_doc", params={"path": f"agreed/{name}.md", "content": "# A"})


def test_a_yes_to_seven_documents_deletes_no_eighth_and_a_resumption_asks_about_it(person: McpUser) -> None:
    put(person, *"abcdefg")
    questions: list[str] = []

    async def answer(_: Any, question: ElicitRequestParams) -> ElicitResult:
        questions.append(question.message)
        if len(questions) == 1:
            await anyio.to_thread.run_sync(put, person, "h")
        return ElicitResult(action="accept", content={"confirm": True})

    asker = replace(person, answer=answer)
    summary, *_ = asker.texts("batch", commands=EACH)
    assert "7 now: " in questions[0]
    assert "all succeeded (8 elements: 7 succeeded, 1 failed)" in summary
    person.texts("call", module="rag", tool="get_doc", params={"path": "agreed/h.md"})
    summary, *_ = asker.texts("batch", resume=summary.split()[1].rstrip(":"))
    assert '(1 now: {"path":"agreed/h.md"} (target: {"title":"A","content":"# A"}))' in questions[1]
    assert "all succeeded (8 elements: 8 succeeded)" in summary
