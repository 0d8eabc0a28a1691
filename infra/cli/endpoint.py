"""The command line's MCP client of an endpoint."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
import mcp_types
from mcp.client.client import Client
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from pydantic import TypeAdapter

from infra.cli.document import CommandError, CommandResult
from infra.cli.rest_client import open_session

HTTP_TIMEOUT_SECONDS = 60
SEPARATE_BLOCKS = {"x-mcpist-blocks": "separate"}  # a text for each step of a batch


class TaskResult(mcp_types.Result):
    """A task instead of a result: https://modelcontextprotocol.io/seps/2663-tasks-extension."""

    result_type: Literal["task"] = "task"
    task_id: str


class TasksExtension(ClientExtension):
    """Announces that this client accepts tasks."""

    identifier = "io.modelcontextprotocol/tasks"

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Never wait for a task here: `EndpointSession.begin` returns it."""

        async def resolve(task: TaskResult, _: ClaimContext) -> mcp_types.CallToolResult:
            raise CommandError("INTERNAL_ERROR", f"{task.task_id} became a task, which was not requested.")

        return [ResultClaim(result_type="task", model=TaskResult, resolve=resolve)]


_ANSWER: TypeAdapter[TaskResult | mcp_types.CallToolResult] = TypeAdapter(TaskResult | mcp_types.CallToolResult)


@dataclass(frozen=True)
class EndpointSession:
    """A connection to an endpoint."""

    client: Client
    url: str

    async def call(self, tool: str, arguments: dict[str, Any]) -> CommandResult:
        """Call one of the meta-tools; its error is a CommandError."""
        return self._to_result(await self.client.call_tool(tool, arguments))

    async def begin(self, tool: str, arguments: dict[str, Any]) -> str | CommandResult:
        """Call one of the meta-tools as a task and return its id, or the result if it comes at once."""
        params = mcp_types.CallToolRequestParams(name=tool, arguments=arguments, task=mcp_types.TaskMetadata())
        answer = await self.client.session.send_request(mcp_types.CallToolRequest(params=params), _ANSWER)
        return answer.task_id if isinstance(answer, TaskResult) else self._to_result(answer)

    async def read(self, uri: str) -> Any:
        """Read a resource's JSON without a cache."""
        (content,) = (await self.client.read_resource(uri, cache_mode="bypass")).contents
        assert isinstance(content, mcp_types.TextResourceContents)
        return json.loads(content.text)

    def _to_result(self, result: mcp_types.CallToolResult) -> CommandResult:
        texts = [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
        if result.is_error:
            raise CommandError.of_endpoint(json.loads(texts[0]))
        facts = {"url": self.url, "protocol_version": self.client.protocol_version}
        return CommandResult([_value(text) for text in texts], facts, list(_files(result)))


@dataclass(frozen=True)
class Endpoint:
    """An endpoint's URL and the access token for it."""

    url: str
    token: str

    @classmethod
    def from_options(cls, url: str | None, token: str | None) -> "Endpoint":
        """Return the endpoint of the command line, or of the last `mcpist up`, or else of the last login."""
        if url and token:
            return cls(url, token)
        session = open_session(url, token, None, own=True)
        return cls(url or f"{session.url}/mcp", session.access_token())

    def call(self, tool: str, arguments: dict[str, Any]) -> CommandResult:
        """Call one of the meta-tools; its error is a CommandError."""
        return self.ask(lambda session: session.call(tool, arguments))

    def ask[T](self, operation: Callable[[EndpointSession], Awaitable[T]], *, tasks: bool = False) -> T:
        """Run an operation on a connection, whose client accepts `tasks` or not; raise CommandError if it fails."""
        refusals: list[CommandError] = []  # the transport's own errors do not say what the endpoint answered

        async def note(response: httpx2.Response) -> None:
            if response.is_error:
                await response.aread()
                refusals.append(_refusal(response))

        async def connected() -> T:
            headers, hooks = {"authorization": f"Bearer {self.token}"} | SEPARATE_BLOCKS, {"response": [note]}
            async with httpx2.AsyncClient(headers=headers, timeout=HTTP_TIMEOUT_SECONDS, event_hooks=hooks) as http:
                transport = streamable_http_client(self.url, http_client=http)
                async with Client(transport, extensions=[TasksExtension()] if tasks else []) as client:
                    return await operation(EndpointSession(client, self.url))

        try:
            return asyncio.run(connected())
        except (CommandError, MCPError, httpx2.HTTPError, OSError, BaseExceptionGroup) as error:
            raise self._failed(_innermost(error), refusals) from None

    def _failed(self, error: BaseException, refusals: Sequence[CommandError]) -> BaseException:
        """Return the CommandError for an expected error; any other error is returned unchanged."""
        if isinstance(error, MCPError) and isinstance(error.data, dict) and "code" in error.data:
            return CommandError.of_endpoint(error.data)
        if isinstance(error, MCPError | httpx2.HTTPStatusError) and refusals:
            return refusals[-1]
        if not isinstance(error, MCPError | httpx2.HTTPError | OSError):
            return error
        hint = "Is it running? Start it with `mcpist up`, or name another with --url."
        return CommandError("UPSTREAM_UNAVAILABLE", f"{self.url} could not be reached: {error}", hint)


def _refusal(response: httpx2.Response) -> CommandError:
    """Return the error of a response: the endpoint's own, or that it is no endpoint."""
    try:
        error = response.json()["error"]
        return CommandError.of_endpoint(error if "code" in error else error["data"])
    except (ValueError, LookupError, TypeError, AttributeError):
        message = f"{response.url.copy_with(query=None)} answered {response.status_code}."
        return CommandError("UPSTREAM_UNAVAILABLE", message, "Is it the URL of an MCPist endpoint?")


def _files(result: mcp_types.CallToolResult) -> Iterator[dict[str, Any]]:
    """Yield the references of the files that a result links to."""
    for block in result.content:
        if isinstance(block, mcp_types.ResourceLink) and (file := (block.meta or {}).get("mcpist/file")):
            yield file


def _value(text: str) -> Any:
    """Return JSON parsed, so that programs need not parse twice, and any other text unchanged."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
