"""AWS requests as recorded values, their callers, and the hook by which a test makes a request fail."""

import json
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import parse_qs, unquote

from infra.local.server import LoopbackRequest, LoopbackResponse

RECORDED_HEADERS = ("x-amz-", "if-", "content-")
SECRET_HEADERS = {"x-amz-security-token"}

type HookPhase = Literal["before", "after"]
type RequestHook = Callable[[AwsRequest, HookPhase], None]


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The holder of an access key: a function's sandbox, `client` (tests, seeding) or `states` (Step Functions)."""

    id: str
    function: str | None = None


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


class Keyring:
    """The access keys that this run issued; all others are refused. Nobody reads signatures: any secret fits a key."""

    def __init__(self) -> None:
        self._callers: dict[str, KeyHolder] = {}
        self._lock = threading.Lock()

    def issue(self, caller: KeyHolder) -> str:
        """Return a new random access key for a caller."""
        access_key = f"ASIA{secrets.token_hex(16).upper()}"
        with self._lock:
            self._callers[access_key] = caller
        return access_key

    def caller(self, access_key: str) -> KeyHolder | None:
        """Return the holder of an access key, if this run issued it."""
        return self._callers.get(access_key)


def credential_scope(request: LoopbackRequest) -> tuple[str, str] | None:
    """Return the access key and the service of a signature; None for a request that is not signed for AWS."""
    authorization = request.headers.get("authorization", "")
    if authorization.startswith("AWS4-HMAC-SHA256"):
        _, _, rest = authorization.partition("Credential=")
        credential = rest.split(",", 1)[0].strip()
    elif "X-Amz-Signature=" in request.query:
        credential = parse_qs(request.query).get("X-Amz-Credential", [""])[0]
    elif "AWSAccessKeyId=" in request.query:
        # A presigned URL of signature version 2, which S3 refuses for buckets under a KMS key.
        return "", "s3"
    else:
        return None
    parts = credential.split("/")
    return (parts[0], parts[-2].lower()) if len(parts) >= 5 else ("", "")


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
