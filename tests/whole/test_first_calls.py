"""Forty first calls of twelve tasks, as a model writes them that has seen the list of tools and no more."""

import json
from pathlib import Path
from typing import Any

from mcp_types import ResourceLink, TextContent

from tests.whole.conftest import McpUser

TASKS = json.loads((Path(__file__).parent / "first_calls.json").read_text("utf-8"))
CALLS = [call for task in TASKS for call in task["calls"]]
MIN_RIGHT = 38


def test_thirty_eight_of_forty_natural_first_calls_are_right_at_once(user: McpUser) -> None:
    files = {"$TEXT": kept(user, "get_doc", path="broker.md"), "$ROWS": kept(user, "list_docs")}
    answers = [(call, answer_of(user, call["name"], placed(call["arguments"], files))) for call in CALLS]
    wrong = [f"{call['name']} {call['arguments']}: {text[:300]}" for call, text in answers if call["shows"] not in text]
    print(f"first calls: {len(CALLS) - len(wrong)} of {len(CALLS)} right at once")  # noqa: T201 - the figure
    assert (len(TASKS), len(CALLS)) == (12, 40)
    assert len(CALLS) - len(wrong) >= MIN_RIGHT, "\n".join(wrong)


def kept(user: McpUser, tool: str, **params: Any) -> str:
    """Return the path of a file with a result."""
    result = user.call("call", module="rag", tool=tool, params=params, options={"as_file": True})
    (link,) = [block for block in result.content if isinstance(block, ResourceLink)]
    path: str = (link.meta or {})["mcpist/file"]["path"]
    return path


def placed(value: Any, files: dict[str, str]) -> Any:
    """Return arguments in which the paths of files stand for their marks."""
    text = json.dumps(value)
    for mark, path in files.items():
        text = text.replace(mark, path)
    return json.loads(text)


def answer_of(user: McpUser, name: str, arguments: dict[str, Any]) -> str:
    """Return the text of an answer; of one that is an error, none that a call waits for."""
    result = user.call(name, **arguments)
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    return f"{json.loads(text)['code']}" if result.is_error else text
