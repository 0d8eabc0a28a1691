"""A fake endpoint with one batch, which advances by one scene at each poll."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import mcp_types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from tests.upstreams.served import served

BATCH = "b_0123456789abcdef"
START = 1_795_000_000.0

type Json = dict[str, Any]


def step(
    id_: str, state: str, *needs: str, at: tuple[float, ...] = (), waits: tuple[str, ...] = (), **more: Any
) -> Json:
    """Return a step as the endpoint reports it; `at` is its start and end in seconds since the batch's start."""
    times = dict(zip(("started_at", "ended_at"), (START + moment for moment in at), strict=False))
    return {"id": id_, "tool": f"rag.{id_}", "state": state, "needs": needs, "waits_for": waits, **times, **more}


def scene(now: float, *steps: Json, done: bool = False) -> Json:
    """Return a batch at a moment."""
    return {"batch": BATCH, "done": done, "started_at": START, "now": START + now, "steps": steps}


@dataclass
class FakeEndpoint:
    """The scenes and the received requests; the last scene stays."""

    scenes: list[Json]
    url: str = ""
    asked: list[Json] = field(default_factory=list)
    reads: int = 0
    outages: int = 0
    refusal: Json | None = None

    async def list_tools(self, *_: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=[mcp_types.Tool(name="batch", input_schema={"type": "object"})])

    async def call_tool(self, _: Any, params: mcp_types.CallToolRequestParams) -> Any:
        arguments = params.arguments or {}
        self.asked.append(arguments)
        if arguments.get("commands") == "wrong":
            error = {"code": "VALIDATION_ERROR", "message": "wrong", "hint": "right", "details": {}}
            return mcp_types.CallToolResult(
                content=[mcp_types.TextContent(type="text", text=json.dumps(error))], is_error=True
            )
        if params.task is not None:
            moment = "2026-11-21T00:00:00Z"
            times = {"createdAt": moment, "lastUpdatedAt": moment, "ttlMs": 60_000}
            return {"resultType": "task", "taskId": BATCH, "status": "working", **times}
        return mcp_types.CallToolResult(content=[mcp_types.TextContent(type="text", text=f"batch {BATCH}: the end")])

    async def read_resource(self, _: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        if params.uri != f"mcpist://batches/{BATCH}/progress":
            error = {"code": "BATCH_NOT_FOUND", "message": "There is no such batch.", "hint": "", "details": {}}
            raise MCPError(mcp_types.INVALID_PARAMS, "There is no such batch.", error)
        if self.refusal:
            raise MCPError(mcp_types.INVALID_PARAMS, self.refusal["message"], self.refusal)
        if self.outages:
            self.outages -= 1
            raise MCPError(mcp_types.INTERNAL_ERROR, "Service Unavailable")
        told = self.scenes[min(self.reads, len(self.scenes) - 1)]
        self.reads += 1
        return mcp_types.ReadResourceResult(
            contents=[mcp_types.TextResourceContents(uri=params.uri, text=json.dumps(told))]
        )


@contextmanager
def serving_scenes(*scenes: Json) -> Iterator[FakeEndpoint]:
    """Serve the fake endpoint on loopback."""
    stage = FakeEndpoint(list(scenes))
    server: Server[Any] = Server(
        "staged", on_list_tools=stage.list_tools, on_call_tool=stage.call_tool, on_read_resource=stage.read_resource
    )
    with served(server) as stage.url:
        yield stage
