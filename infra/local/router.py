"""The dispatch of the only port: to AWS, the sandboxes' runtime API or the HTTP API's routes; S3's POST as a PUT.

POST: https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
"""

import http.client
import json
import secrets
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from io import BytesIO
from typing import Any
from urllib.parse import parse_qs, quote, unquote

from werkzeug.formparser import parse_form_data

from infra.local.http_api import HttpApi
from infra.local.invocation import Sandbox
from infra.local.lambda_api import LambdaApi, RuntimeApi, is_invoke
from infra.local.pool import Pool
from infra.local.server import App, DropConnection, LoopbackRequest, LoopbackResponse


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The holder of an access key: a function's sandbox, `client` (tests, seeding) or `states` (Step Functions)."""

    id: str
    function: str | None = None


class Keyring(dict[str, KeyHolder]):
    """The holders of the access keys that this run issued; all others are refused.

    Nobody reads signatures: any secret fits a key.
    """

    def issue(self, caller: KeyHolder) -> str:
        """Return a new random access key for a caller."""
        access_key = f"ASIA{secrets.token_hex(16).upper()}"
        self[access_key] = caller
        return access_key


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


ZYGOTE_CREDENTIALS_SECONDS = 300
SANDBOX_CREDENTIALS_SECONDS = 6 * 3600
STEP_FUNCTIONS = KeyHolder("states")
# Fields that no condition must name.
_UNCHECKED = {"policy", "x-amz-signature", "file"}

type Observer = Callable[[LoopbackRequest, KeyHolder, str, Sandbox | None, App], LoopbackResponse]
"""Sees each AWS request with its caller, its service and the caller's sandbox, and forwards it or answers instead."""


class RequestRouter:
    """Dispatches every request on the port; `moto` serves all AWS requests except Lambda's Invoke."""

    def __init__(self, keyring: Keyring, sandboxes: Mapping[str, tuple[Sandbox, Pool]]) -> None:
        self.secret = secrets.token_hex(16)
        self.observer: Observer | None = None
        self.lambda_api: LambdaApi | None = None
        self.http_api: HttpApi | None = None
        self.moto: App | None = None
        self._keyring = keyring
        self._sandboxes = sandboxes
        self._runtime = RuntimeApi(sandboxes)
        self._dynamodb = threading.Lock()

    def __call__(self, request: LoopbackRequest) -> LoopbackResponse:
        """Respond to a request."""
        prefix, _, rest = request.path.removeprefix("/").partition("/")
        if secrets.compare_digest(prefix.encode(), self.secret.encode()):
            return self._internal(request, rest)
        if is_post_form(request):
            put = put_of(request)
            return put if isinstance(put, LoopbackResponse) else self(put)
        scope = credential_scope(request)
        if scope is not None:
            access_key, service = scope
            caller = self._keyring.get(access_key)
            return self._aws(request, caller, service) if caller else _invalid_token_response(service)
        return self.http_api.handle(request) if self.http_api else LoopbackResponse(503)

    def invoke_by_machine(self, request: LoopbackRequest) -> LoopbackResponse:
        """Respond to an Invoke request of a machine's Task."""
        return self._aws(request, STEP_FUNCTIONS, "lambda")

    def _internal(self, request: LoopbackRequest, path: str) -> LoopbackResponse:
        """Respond to a request whose path begins with this run's secret."""
        kind, _, rest = path.partition("/")
        if kind == "runtime":
            return self._runtime.handle(request, rest)
        return self._credentials(request) if kind == "credentials" else LoopbackResponse(404)

    def _credentials(self, request: LoopbackRequest) -> LoopbackResponse:
        """Return the container credentials of SnapStart functions; those of a zygote end with its snapshot."""
        token = request.headers.get("authorization", "")
        caller = self._keyring.get(token)
        if caller is None:
            return LoopbackResponse(403)
        seconds = SANDBOX_CREDENTIALS_SECONDS if caller.id in self._sandboxes else ZYGOTE_CREDENTIALS_SECONDS
        body = {
            "AccessKeyId": token,
            "SecretAccessKey": token,  # nobody reads signatures, but an SDK does not go without a secret
            "Token": "local",
            "Expiration": (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return LoopbackResponse(200, (("content-type", "application/json"),), json.dumps(body).encode())

    def _aws(self, request: LoopbackRequest, caller: KeyHolder, service: str) -> LoopbackResponse:
        forward = partial(self._forward, service)
        if self.observer is None:
            return forward(request)
        sandbox = self._sandboxes[caller.id][0] if caller.id in self._sandboxes else None
        return self.observer(request, caller, service, sandbox, forward)

    def _forward(self, service: str, request: LoopbackRequest) -> LoopbackResponse:
        if is_invoke(request):
            assert self.lambda_api is not None
            return self.lambda_api.invoke(request)
        assert self.moto is not None
        if service == "dynamodb":
            with self._dynamodb:
                # The caller retries: to serve the abandoned request as well would only lengthen the queue.
                if request.abandoned:
                    raise DropConnection
                return self.moto(request)
        return self.moto(request)


def _invalid_token_response(service: str) -> LoopbackResponse:
    """Return AWS's response to credentials that it never issued."""
    message = "The security token included in the request is invalid."
    if service == "s3":
        body = f"<Error><Code>InvalidAccessKeyId</Code><Message>{message}</Message></Error>"
        return LoopbackResponse(403, (("content-type", "application/xml"),), body.encode())
    error = {"__type": "UnrecognizedClientException", "message": message}
    headers = (("content-type", "application/x-amz-json-1.0"), ("x-amzn-ErrorType", "UnrecognizedClientException"))
    return LoopbackResponse(403, headers, json.dumps(error).encode())


def is_post_form(request: LoopbackRequest) -> bool:
    """Return whether the request is a form for S3."""
    is_form = request.headers.get("content-type", "").startswith("multipart/form-data")
    return request.method == "POST" and is_form and b'name="policy"' in request.body[:65_536]


def put_of(request: LoopbackRequest) -> LoopbackRequest | LoopbackResponse:
    """Return the PutObject that a form means, or S3's refusal of what its policy does not allow."""
    environ = {**request.environ, "wsgi.input": BytesIO(request.body)}
    _, fields, files = parse_form_data(environ, stream_factory=lambda *_, **__: BytesIO())
    named = {name.lower(): value for name, value in fields.items()}
    content = files["file"].read() if "file" in files else b""
    bucket = unquote(request.path).strip("/")
    if problem := next(_problems(named, bucket, len(content)), None):
        body = f"<Error><Code>AccessDenied</Code><Message>Invalid according to Policy: {problem}</Message></Error>"
        return LoopbackResponse(403, (("content-type", "application/xml"),), body.encode())
    path = f"/{bucket}/{quote(named['key'])}"
    query = f"X-Amz-Credential={quote(named['x-amz-credential'], safe='')}&X-Amz-Signature=form"
    sent = {
        **{name: value for name, value in request.environ.items() if name != "HTTP_CONTENT_TYPE"},
        "REQUEST_METHOD": "PUT",
        "RAW_URI": f"{path}?{query}",
        "REQUEST_URI": f"{path}?{query}",
        "PATH_INFO": unquote(path),
        "QUERY_STRING": query,
        "CONTENT_TYPE": named.get("content-type", "binary/octet-stream"),
        "CONTENT_LENGTH": str(len(content)),
        "wsgi.input": BytesIO(content),
    }
    headers = http.client.HTTPMessage()
    headers["content-type"] = sent["CONTENT_TYPE"]
    return LoopbackRequest(sent, headers, content)


def _problems(fields: Mapping[str, str], bucket: str, size: int) -> Iterator[str]:
    """Yield the violations of the policy: the end of its time, or a field other than its conditions say."""
    policy = json.loads(b64decode(fields["policy"]))
    if datetime.fromisoformat(policy["expiration"]) <= datetime.now(UTC):
        yield "Policy expired."
    sent = {**fields, "bucket": bucket}
    conditions = [_condition(one) for one in policy["conditions"]]
    for kind, name, value in conditions:
        if kind == "eq" and sent.get(name) != value:
            yield f"Policy Condition failed: eq {name}"
        if kind == "content-length-range" and not int(name) <= size <= int(value):
            yield "EntityTooLarge"
    extra = set(fields) - _UNCHECKED - {name for kind, name, _ in conditions if kind == "eq"}
    if extra:
        yield f"Extra input fields: {', '.join(sorted(extra))}"


def _condition(condition: Any) -> tuple[str, str, str]:
    """Return a condition as its kind, its field and its value."""
    if isinstance(condition, Mapping):
        ((name, value),) = condition.items()
        return "eq", name.lower(), str(value)
    kind, first, second = condition
    return kind, str(first).removeprefix("$").lower(), str(second)
