"""A server on loopback that answers as DynamoDB might."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from infra.local.names import REGION
from infra.local.server import LoopbackRequest, LoopbackResponse, LoopbackServer, listen
from mcpist.aws.connections import Connections
from mcpist.aws.credentials import Credentials, FunctionCredentials
from mcpist.aws.dynamodb import HttpTransport


class FixedCredentials(FunctionCredentials):
    def current(self) -> Credentials:
        return Credentials("ak", "sk", "token")


class Service:
    """A server that gives its answers in turn, the last one for ever, and keeps what it was sent."""

    def __init__(self) -> None:
        self.answers: list[LoopbackResponse | Exception | Callable[[LoopbackRequest], LoopbackResponse]] = []
        self.received: list[LoopbackRequest] = []
        self.pauses: list[float] = []

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        self.received.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, LoopbackResponse) else answer(request)

    def send(self, operation: str = "GetItem", *, url: str, attempts: int = 3, read_seconds: float = 5) -> Any:
        connections = Connections(url, connect_seconds=5, read_seconds=read_seconds)
        try:
            return self.transport(connections, attempts)("ledger", operation, {"TableName": "T"})
        finally:
            connections.close()

    def transport(self, connections: Connections, attempts: int = 3) -> HttpTransport:
        return HttpTransport(connections, FixedCredentials(), REGION, attempts, self.pauses.append)


@contextmanager
def serving(app: Callable[[LoopbackRequest], LoopbackResponse]) -> Iterator[str]:
    listener = listen("127.0.0.1", 0)
    with LoopbackServer(listener, app):
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def ok(**body: Any) -> LoopbackResponse:
    return LoopbackResponse(200, (), json.dumps(body).encode())


def refused(code: str, status: int = 400, **more: Any) -> LoopbackResponse:
    return LoopbackResponse(
        status, (), json.dumps({"__type": f"com.amazonaws.x#{code}", "message": "no", **more}).encode()
    )
