"""HTTP below the SDK: guarded, bounded, and with every failure returned to the request that caused it.

The SDK ends a whole session when one of its requests fails in transport, and hides statuses. So this transport answers
such a request with a JSON-RPC error, and the requests beside it continue.
"""

import json
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

import httpcore2
import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from mcpist.bounded_http.addresses import ForbiddenAddress
from mcpist.bounded_http.client import parse_json
from mcpist.running.refusals import Failure, failure, read_refusal
from mcpist.tools.declare.call import ServiceResponse
from mcpist_services.upstream.checked_items import shallow
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.faults import Faults
from mcpist_services.upstream.network import ConnectionPool

TCP_CONNECT_TIMEOUT_SECONDS = 5.0
SESSION_END_TIMEOUT_SECONDS = 1.0
MAX_SSE_EVENT_BYTES = 1_000_000  # the SDK accepts no larger events on an SSE transport

_NOT_SENT_ERRORS = (httpcore2.ConnectError, httpcore2.ConnectTimeout, httpcore2.PoolTimeout)
_TRANSPORT_ERRORS = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)
# These statuses concern the caller or the moment, whatever JSON-RPC error is in the body.
_STATUSES_OVER_BODY = {401, 403, 429, 503}


class UpstreamTransport(httpx2.AsyncBaseTransport):
    """Carry one connection's requests; with `is_sse` also the server's stream, which only that transport needs."""

    def __init__(self, pool: ConnectionPool, faults: Faults, limit: int, *, is_sse: bool) -> None:
        self._pool = pool
        self._faults = faults
        self._limit = limit
        self._is_sse = is_sse

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Return the server's response, or a failure in the form that the SDK passes to the request."""
        # The SDK opens a stream for the server's own messages, which nobody here reads; a resumed answer has an id.
        if request.method == "GET" and not self._is_sse and "last-event-id" not in request.headers:
            return httpx2.Response(405)
        try:
            answer = await self._pool.send(_to_httpcore_request(request, await request.aread()))
            return await self._read_response(request, answer)
        except ForbiddenAddress as error:
            return self._failure_response(self._faults.unavailable(str(error), safe_to_retry=True))
        except _TRANSPORT_ERRORS as error:
            problem = f"no answer ({type(error).__name__})"
            return self._failure_response(
                self._faults.unavailable(problem, safe_to_retry=isinstance(error, _NOT_SENT_ERRORS))
            )

    async def _read_response(self, request: httpx2.Request, answer: httpcore2.Response) -> httpx2.Response:
        headers = httpx2.Headers(answer.headers)
        if headers.get("content-encoding", "identity") != "identity":
            await answer.aclose()
            return self._failure_response(self._faults.unavailable("it answers in an encoding that was not asked for"))
        if answer.status == 200 and headers.get("content-type", "").lower().startswith("text/event-stream"):
            return httpx2.Response(
                200, headers=headers, stream=LimitedEventStream(answer, self._faults, self._limit, self._is_sse)
            )
        body = await _read_body(answer, self._limit)
        if body is None:
            return self._failure_response(self._faults.too_large(self._limit))
        refused = self._status_failure(request, answer.status, headers, body)
        if refused is not None:
            return self._failure_response(refused)
        for name in ("transfer-encoding", "content-length"):
            headers.pop(name, None)
        return httpx2.Response(answer.status, headers=headers, content=shallow(body))

    def _status_failure(
        self, request: httpx2.Request, status: int, headers: httpx2.Headers, body: bytes
    ) -> Failure | None:
        """Return the failure of a status that is neither a success nor carries a JSON-RPC error."""
        if status < 300:
            # What older servers send after they have accepted a message is not read.
            is_json = headers.get("content-type", "").lower().startswith("application/json")
            if self._is_sse or status != 200 or not body or is_json:
                return None
            return self._faults.unavailable("it answers no message")
        if status < 400:
            if status in {307, 308} and _origin(request.url.join(headers.get("location", ""))) == _origin(request.url):
                return None
            return self._faults.unavailable("it redirects to another origin, which is not followed", safe_to_retry=True)
        if "mcp-session-id" in request.headers and (status == 404 or (status == 400 and b"session" in body.lower())):
            self._faults.draining = True
            return self._faults.unavailable("it has forgotten the session", safe_to_retry=True)
        if status not in _STATUSES_OVER_BODY and _is_jsonrpc_error(body):
            return None
        response = ServiceResponse(status, dict(headers), parse_json(body))
        refusal = read_refusal(response)
        return None if refusal is None else failure(self._faults.service, response, refusal, self._faults.secrets)

    def _failure_response(self, failure: Failure) -> httpx2.Response:
        """Return a failure as a response; if the connection was not made, the next request begins a new one."""
        if failure.safe_to_retry:
            self._faults.draining = True
        if self._is_sse:  # on this transport the SDK receives responses by the stream only
            self._faults.close(failure)
        error = self._faults.error_response(None, failure).model_dump(mode="json", by_alias=True)
        return httpx2.Response(500, json=error)


class LimitedEventStream(httpx2.AsyncByteStream):
    """A stream of events with a size limit: for the whole stream, or for each event of a long-lived one."""

    def __init__(self, answer: httpcore2.Response, faults: Faults, limit: int, is_sse: bool) -> None:
        self._answer = answer
        self._faults = faults
        self._limit = limit
        self._is_sse = is_sse

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, line = 0, bytearray()
        try:
            async for chunk in _chunks(self._answer):
                end = max(chunk.rfind(b"\n\n"), chunk.rfind(b"\r\n\r\n")) if self._is_sse else -1
                size = len(chunk) - end if end >= 0 else size + len(chunk)
                if size > self._limit:
                    raise httpx2.SSEError(self._too_large())
                line += chunk
                if b"\n" in chunk:
                    whole, _, rest = bytes(line).rpartition(b"\n")
                    yield _shallow_events(whole + b"\n")
                    line = bytearray(rest)
            yield _shallow_events(bytes(line))
        except _TRANSPORT_ERRORS as error:
            if self._is_sse:
                self._faults.close(self._faults.unavailable("its stream of events broke"))
            raise httpx2.ReadError("the stream broke") from error

    async def aclose(self) -> None:
        """End the stream."""
        await self._answer.aclose()

    def _too_large(self) -> str:
        failure = self._faults.too_large(self._limit)
        if self._is_sse:
            self._faults.close(failure)
        return self._faults.store(failure)


def _to_httpcore_request(request: httpx2.Request, content: bytes) -> httpcore2.Request:
    url, seconds = request.url, dict(request.extensions.get("timeout", {}))
    if request.method == "GET":
        seconds["read"] = None  # a stream may be idle for long
    elif request.method == "DELETE":
        seconds = dict.fromkeys(seconds, SESSION_END_TIMEOUT_SECONDS)
    return httpcore2.Request(
        request.method,
        httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=content,
        extensions={"timeout": seconds},
    )


def _shallow_events(events: bytes) -> bytes:
    """Return lines of a stream of events, each message of which the SDK can parse."""
    lines = events.splitlines(keepends=True)
    return b"".join(b"data:" + shallow(line[5:]) if line.startswith(b"data:") else line for line in lines)


def _chunks(answer: httpcore2.Response) -> AsyncIterable[bytes]:
    stream = answer.stream
    assert isinstance(stream, AsyncIterable)
    return stream


async def _read_body(answer: httpcore2.Response, limit: int) -> bytes | None:
    """Read the body; None if it is over the limit."""
    body = bytearray()
    try:
        async for chunk in _chunks(answer):
            body += chunk
            if len(body) > limit:
                return None
    finally:
        await answer.aclose()
    return bytes(body)


def _is_jsonrpc_error(body: bytes) -> bool:
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("jsonrpc") == "2.0" and isinstance(found.get("error"), dict)


def _origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def open_http(
    pool: ConnectionPool, server: UpstreamServer, headers: Mapping[str, str], faults: Faults, stack: AsyncExitStack
) -> AbstractAsyncContextManager[Any]:
    """Return the transport to a server of the type http or sse."""
    is_sse = server.type == "sse"
    limit = min(server.result_bytes, MAX_SSE_EVENT_BYTES) if is_sse else server.result_bytes
    transport = UpstreamTransport(pool, faults, limit, is_sse=is_sse)
    # No compression, since compressed content could grow past every limit.
    named = {"user-agent": "mcpist", **headers, "accept-encoding": "identity"}
    timeout = httpx2.Timeout(server.timeout_seconds, connect=TCP_CONNECT_TIMEOUT_SECONDS)

    def make(*_: Any, **__: Any) -> httpx2.AsyncClient:  # whatever settings the SDK would give it
        # No proxy of the environment: through one no address could be checked.
        return httpx2.AsyncClient(transport=transport, headers=named, timeout=timeout, trust_env=False)

    if is_sse:
        return sse_client(server.url, httpx_client_factory=make)
    client = await stack.enter_async_context(make())
    return streamable_http_client(server.url, http_client=client, max_sse_event_size=limit)
