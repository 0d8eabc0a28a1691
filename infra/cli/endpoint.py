"""The command line's MCP client of an endpoint: one POST a request, without the SDK, which takes a second to import.

Source: https://modelcontextprotocol.io/specification/2026-07-28
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2

from infra.cli.document import CommandError, CommandResult
from infra.cli.options import chosen
from infra.cli.rest_client import RestSession, known_origin, not_an_endpoint, open_session, origin_of
from mcpist.render.answer import MAX_ANSWER_TOKENS
from mcpist.version import VERSION
from mcpist.visible_text import visible

PROTOCOL_VERSION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
WHOLE_ANSWER = {"max_tokens": MAX_ANSWER_TOKENS}
"""The option of a program's request, whose answer no model reads."""
_META = "io.modelcontextprotocol"


@dataclass(frozen=True)
class Endpoint:
    """An endpoint, and the person who acts there."""

    session: RestSession
    path: str = "/mcp"

    @classmethod
    def at(cls, url: str, token: str) -> "Endpoint":
        """Return the endpoint of an MCP URL; the path of an origin alone is `/mcp`."""
        return cls(RestSession(origin_of(url), token), _path(url))

    @classmethod
    def from_options(cls, url: str | None, token: str | None) -> "Endpoint":
        """Return the endpoint of the command line, or of the last `mcpist up`, or else of the last login."""
        url, token = chosen(url, token)
        return cls(open_session(url, token, None, own=True), _path(url) if url else "/mcp")

    @property
    def url(self) -> str:
        """The MCP URL."""
        return self.session.url + self.path

    def call(self, tool: str, arguments: Mapping[str, Any], read: Callable[[str], Any] | None = None) -> CommandResult:
        """Call one of the meta-tools, and read the first text of its answer; its error is a CommandError."""
        return self._to_result(self._call(tool, arguments), read)

    def begin(self, tool: str, arguments: Mapping[str, Any]) -> str | CommandResult:
        """Call one of the meta-tools as a task and return its id, or the result if it comes at once."""
        answer = self._call(tool, arguments, task={})
        return str(answer["taskId"]) if answer.get("resultType") == "task" else self._to_result(answer)

    def read(self, uri: str) -> Any:
        """Read a resource's JSON."""
        (content,) = self.request("resources/read", {"uri": uri}, name=uri)["contents"]
        return json.loads(content["text"])

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools that the endpoint lists."""
        listed: list[dict[str, Any]] = self.request("tools/list", {})["tools"]
        return listed

    def request(self, method: str, params: Mapping[str, Any], *, name: str = "", tasks: bool = False) -> dict[str, Any]:
        """Return the result of one request; CommandError for an error of the protocol or of the way there."""
        capabilities: dict[str, Any] = {"extensions": {TASKS: {}}} if tasks else {}
        meta = {
            f"{_META}/protocolVersion": PROTOCOL_VERSION,
            f"{_META}/clientInfo": {"name": "mcpist", "version": VERSION},
            f"{_META}/clientCapabilities": capabilities,
        }
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": PROTOCOL_VERSION,
            "mcp-method": method,
            "x-mcpist-blocks": "separate",  # a text for each step of a batch
            **({"mcp-name": name} if name else {}),
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
        return _result(self.session.respond("POST", self.path, json=message, headers=headers))

    def _call(self, tool: str, arguments: Mapping[str, Any], **task: Any) -> dict[str, Any]:
        params = {"name": tool, "arguments": dict(arguments), **task}
        return self.request("tools/call", params, name=tool, tasks=bool(task))

    def _to_result(self, answer: Mapping[str, Any], read: Callable[[str], Any] | None = None) -> CommandResult:
        result = tool_result(answer, read)
        return replace(result, metadata={"url": self.url, "protocol_version": PROTOCOL_VERSION})


def tool_result(answer: Mapping[str, Any], read: Callable[[str], Any] | None = None) -> CommandResult:
    """Return a tool's answer, its JSON parsed and its first text read; a CommandError for the error that it holds."""
    texts = [str(block["text"]) for block in answer["content"] if block["type"] == "text"]
    if answer.get("isError"):
        error = parsed(texts[0])
        # An error of another server's tool is only a text.
        plain = {"code": "TOOL_EXECUTION_ERROR", "message": texts[0]}
        raise CommandError.of_endpoint(error if isinstance(error, dict) else plain)
    drawing = visible("\n\n".join(texts), lines=True)
    files = list(_files(answer))
    first = [read(text) if read and not files else parsed(text) for text in texts[:1]]
    return CommandResult([*first, *map(parsed, texts[1:])], files=files, drawing=drawing)


def _result(response: httpx2.Response) -> dict[str, Any]:
    """Return the result of a JSON-RPC response; CommandError for one with an error, and for any other response."""
    try:
        answer = response.json()
        result, error = answer.get("result"), answer.get("error")
    except (ValueError, AttributeError):
        raise not_an_endpoint(response) from None
    if isinstance(result, dict):
        return result
    if not isinstance(error, dict):
        raise not_an_endpoint(response)
    for known in (error.get("data"), error):
        if isinstance(known, dict) and isinstance(known.get("code"), str):
            raise CommandError.of_endpoint(known)
    raise CommandError("UPSTREAM_UNAVAILABLE", str(error.get("message")), "Is it the URL of an MCPist endpoint?")


def _files(answer: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the references of the files that an answer links to."""
    for block in answer["content"]:
        if block["type"] == "resource_link" and (file := (block.get("_meta") or {}).get("mcpist/file")):
            yield file


def known_url(url: str | None) -> str:
    """Return the MCP URL of the command line, else that of the `mcpist up` that runs, else of the latest login."""
    url, _ = chosen(url)
    return Endpoint.at(url, "").url if url else f"{known_origin()}/mcp"


def _path(url: str) -> str:
    """Return the path of an MCP URL below its origin."""
    path = url[len(origin_of(url)) :]
    return path if path.strip("/") else "" if urlsplit(url).path.strip("/") else "/mcp"


def parsed(text: str) -> Any:
    """Return JSON parsed, and any other text unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text
