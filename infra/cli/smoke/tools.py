"""Checks with a token: the three tools, a call and a batch of the module rag."""

import json
from collections.abc import Iterator
from typing import Any

from infra.cli.doctor.finding import CheckFinding, ok, problem
from infra.cli.document import CommandError
from infra.cli.endpoint import Endpoint
from mcpist.polling import Polling

TOOLS = {"get_module_schema", "call", "batch"}
STEPS = (
    {"id": "tags", "module": "rag", "tool": "list_tags", "output": True},
    {"id": "find", "module": "rag", "tool": "search_docs", "after": ["tags"], "params": {"query": "mcpist"}},
)
BATCH_SECONDS = 60
POLLING = Polling(initial_seconds=0.5, max_seconds=3)


def three_tools(endpoint: Endpoint) -> Iterator[CheckFinding]:
    """Check that the endpoint lists its three tools to the token's user."""
    try:
        found = {str(tool["name"]) for tool in endpoint.tools()}
    except CommandError as error:
        yield _refused("tools/list", error)
        return
    if found >= TOOLS:
        yield ok(", ".join(sorted(found)))
    else:
        yield problem(f"tools/list has {', '.join(sorted(found)) or 'nothing'}", "Deploy this release: `make deploy`.")


def call(endpoint: Endpoint) -> Iterator[CheckFinding]:
    """Check one call of rag."""
    try:
        answer = endpoint.call("call", {"module": "rag", "tool": "list_tags"})
    except CommandError as error:
        yield _refused("rag.list_tags", error)
    else:
        yield ok(f"rag.list_tags: {len(answer.texts[0])} tags")


def batch(endpoint: Endpoint) -> Iterator[CheckFinding]:
    """Check a batch of two steps, of which one waits for the other, on a generated machine."""
    commands = "\n".join(map(json.dumps, STEPS))
    try:
        summary = _summary(endpoint, {"commands": commands})
        batch_id = summary.split()[1].rstrip(":")
        summary = POLLING.wait(
            summary,
            lambda text: ": running" not in text,
            lambda: _summary(endpoint, {"batch_id": batch_id}),
            BATCH_SECONDS,
        )
    except CommandError as error:
        yield _refused("the batch", error)
        return
    if ": done, 2 of 2 steps" in summary and "failed" not in summary:
        yield ok(summary)
    else:
        yield problem(
            summary, f"`mcpist batch --id {batch_id} --watch` and `mcpist timeline {batch_id}` show its steps."
        )


def _summary(endpoint: Endpoint, arguments: dict[str, Any]) -> str:
    return str(endpoint.call("batch", arguments).texts[0])


def _refused(what: str, error: CommandError) -> CheckFinding:
    """Return the problem with the endpoint's own hint; a role without the module is what an administrator mends."""
    remedy = str(error.error["hint"])
    if error.error["code"] in {"AUTHORIZATION_ERROR", "TOOL_DISABLED", "MODULE_NOT_FOUND", "TOOL_NOT_FOUND"}:
        remedy += " An administrator adds rag to the role: `mcpist role update ROLE --modules rag,... --stack STACK`."
    return problem(f"{what}: {error.error['code']}: {error}", remedy)
