"""The requests to an embedded AWS as recorded values, and the hook by which a test makes one fail."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import unquote

from infra.local.invocation import Sandbox
from infra.local.router import KeyHolder
from infra.local.server import App, DropConnection, LoopbackRequest, LoopbackResponse
from infra.local.stack import EmbeddedAws

RECORDED_HEADERS = ("x-amz-", "if-", "content-")
SECRET_HEADERS = {"x-amz-security-token"}

type HookPhase = Literal["before", "after"]
type RequestHook = Callable[[AwsRequest, HookPhase], None]


@dataclass(frozen=True, slots=True)
class AwsRequest:
    """One request to AWS."""

    caller: str
    """The id of the Caller."""
    function: str | None
    """The function whose sandbox sent it."""
    service: str
    """The service's name in the signature, e.g. `dynamodb`."""
    operation: str
    """For example `GetItem`, `StartExecution` or `Invoke`; for S3 the method and the path."""
    body: Any = field(default=None, repr=False)
    """The request's JSON, if it has any."""
    invocation: str | None = None
    """The request id of the invocation in which a sandbox sent it."""
    request_line: str = field(default="", compare=False)
    """The method and the percent-encoded address, e.g. `GET /bucket?list-type=2`."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """The headers that belong to an operation, in lower case: `x-amz-...`, `if-...` and `content-...`."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The DynamoDB tables that the request names."""
        if self.service != "dynamodb" or not isinstance(self.body, dict):
            return ()
        if "TableName" in self.body:
            return (str(self.body["TableName"]),)
        items = self.body.get("RequestItems", {})
        parts = [part for item in self.body.get("TransactItems", []) for part in item.values()]
        return (*items, *dict.fromkeys(str(part["TableName"]) for part in parts))

    @property
    def table(self) -> str | None:
        """The first DynamoDB table that the request names."""
        return next(iter(self.tables), None)


class InjectedResponse(Exception):
    """Raised by a hook to replace the real response.

    A `before` hook prevents the request; an `after` hook only hides its outcome.
    """

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"response {status}")
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        defaults = {"content-type": "application/x-amz-json-1.0", **(headers or {})}
        self.response = LoopbackResponse(status, tuple(defaults.items()), content)


class Traffic:
    """Records the requests to an AWS, and calls a hook before one is forwarded and before its response is sent."""

    def __init__(self) -> None:
        self.requests: list[AwsRequest] = []
        """Oldest first; a test may clear the list."""
        self.on_request: RequestHook | None = None

    def __call__(
        self, request: LoopbackRequest, caller: KeyHolder, service: str, sandbox: Sandbox | None, forward: App
    ) -> LoopbackResponse:
        """Record a request and forward it."""
        current = sandbox.current if sandbox else None
        recorded = to_aws_request(request, caller, service, current.id if current else None)
        self.requests.append(recorded)
        hook = self.on_request
        if hook is None:
            return forward(request)
        try:
            hook(recorded, "before")
            _require_running(sandbox)
            response = forward(request)
            hook(recorded, "after")
            _require_running(sandbox)
        except InjectedResponse as fault:
            return fault.response
        return response


def traffic_of(aws: EmbeddedAws) -> Traffic:
    """Return the record of an AWS, which begins with the first call."""
    if not isinstance(aws.router.observer, Traffic):
        aws.router.observer = Traffic()
    return aws.router.observer


def _require_running(sandbox: Sandbox | None) -> None:
    """Drop the connection of a sandbox that a hook has killed."""
    if sandbox is not None and sandbox.exited.is_set():
        raise DropConnection


def to_aws_request(request: LoopbackRequest, caller: KeyHolder, service: str, invocation: str | None) -> AwsRequest:
    """Return the record of a request."""
    target = request.headers.get("x-amz-target", "")
    if target:
        operation = target.rpartition(".")[2]
    elif service == "lambda" and request.path.endswith(("/invocations", "/invoke-async")):
        operation = "Invoke"
    else:
        operation = f"{request.method} {unquote(request.path)}"
    body = None
    if "json" in request.headers.get("content-type", "") or operation == "Invoke":
        try:
            body = json.loads(request.body)
        except ValueError:
            body = None
    query = f"?{request.query}" if request.query else ""
    headers = {name.lower(): value for name, value in request.headers.items()}
    return AwsRequest(
        caller.id,
        caller.function,
        service,
        operation,
        body,
        invocation,
        f"{request.method} {request.path}{query}",
        {name: headers[name] for name in headers if name.startswith(RECORDED_HEADERS) and name not in SECRET_HEADERS},
    )
