"""A fresh process as a cold sandbox: measures CPU to the first `tools/list`, then CPU for each `tools/call`.

Run as `python -m benchmarks.sandbox ours|bare LIST_EVENT CALL_EVENT HANDSHAKE_EVENT`; prints `{"cold_ms", "warm_us",
"own_us", "handshake_us"}`: `own_us` is `warm_us` without the audit row, `handshake_us` the same of the last event.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.typing import LambdaContext

WARM_UP, BLOCKS, CALLS = 50, 20, 25


class Context:
    """The part of Lambda's context that a handler reads."""

    aws_request_id = "bench"

    def get_remaining_time_in_millis(self) -> int:
        """Return the time of the beginning of an invocation."""
        return 29_000


def main(which: str, *events: str) -> None:
    """Measure one server."""
    listing, calling, by_handshake = (json.loads(Path(path).read_text("utf-8")) for path in events)
    serve = ours() if which == "ours" else bare()
    assert serve(listing)["statusCode"] == 200
    cold = time.process_time()
    for event in (calling, by_handshake):
        answer = serve(event)
        assert '"isError":true' not in answer["body"], answer["body"]
    warm = microseconds(lambda: serve(calling))
    from mcpist.audit import record as audit

    audit.record_use = lambda *_, **__: None
    own = microseconds(lambda: serve(calling))
    handshake = microseconds(lambda: serve(by_handshake))
    print(json.dumps({"cold_ms": cold * 1000, "warm_us": warm, "own_us": own, "handshake_us": handshake}))


def microseconds(work: Callable[[], Any]) -> float:
    """Return the CPU of one run of a piece of work: of the fastest block, since other processes empty the caches."""
    for _ in range(WARM_UP):
        work()
    return min(_block(work) for _ in range(BLOCKS)) / CALLS * 1_000_000


def _block(work: Callable[[], Any]) -> float:
    started = time.process_time()
    for _ in range(CALLS):
        work()
    return time.process_time() - started


def ours() -> Callable[[Any], Any]:
    """Return the endpoint's handler."""
    from mcp_endpoint.handler import handler

    return lambda event: handler(event, cast("LambdaContext", Context()))


def bare() -> Callable[[Any], Any]:
    """Return a server of the same SDK without our code: three tools, no login, no permissions, no store."""
    import asyncio

    from mcp.server.lowlevel import Server
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

    async def list_tools(*_: Any) -> ListToolsResult:
        return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in ("a", "b", "c")])

    async def call_tool(*_: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text="[]")])

    server = Server(
        "bare", on_list_tools=list_tools, on_call_tool=call_tool, get_tool_input_schema=lambda _: {"type": "object"}
    )
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
    loop = asyncio.new_event_loop()
    running = manager.run()  # kept until the process ends
    loop.run_until_complete(running.__aenter__())

    async def exchange(event: Any) -> Any:
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": event["body"].encode(), "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = [(name.encode(), value.encode()) for name, value in event["headers"].items()]
        scope = {"type": "http", "method": "POST", "path": "/mcp", "query_string": b"", "headers": headers}
        await manager.handle_request({**scope, "http_version": "1.1", "scheme": "https"}, receive, send)
        return {"statusCode": sent[0]["status"], "body": sent[1]["body"].decode()}

    def serve(event: Any, _: Any = running) -> Any:
        return loop.run_until_complete(exchange(event))

    return serve


if __name__ == "__main__":
    main(*sys.argv[1:])
