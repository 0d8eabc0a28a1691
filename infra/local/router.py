"""The dispatch of the only port: to AWS, the sandboxes' runtime API or the HTTP API's routes."""

import json
import secrets
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from infra.local import aws_requests, post_forms
from infra.local.http_api import HttpApi
from infra.local.lambda_api import LambdaApi, RuntimeApi, is_invoke
from infra.local.pool import Pool, Sandbox
from infra.local.server import App, DropConnection, Request, Response

ZYGOTE_CREDENTIALS_SECONDS = 300
SANDBOX_CREDENTIALS_SECONDS = 6 * 3600
MAX_RECORDED_REQUESTS = 50_000
STEP_FUNCTIONS = aws_requests.Caller("states")


class RequestRouter:
    """Dispatches every request on the port; `moto` serves all AWS requests except Lambda's Invoke."""

    def __init__(self, keyring: aws_requests.Keyring, sandboxes: Mapping[str, tuple[Sandbox, Pool]]) -> None:
        self.secret = secrets.token_hex(16)
        self.requests: list[aws_requests.AwsRequest] = []
        self.on_request: aws_requests.RequestHook | None = None
        self.lambda_api: LambdaApi | None = None
        self.http_api: HttpApi | None = None
        self.moto: App | None = None
        self._keyring = keyring
        self._sandboxes = sandboxes
        self._runtime = RuntimeApi(sandboxes)
        self._dynamodb = threading.Lock()

    def __call__(self, request: Request) -> Response:
        """Respond to a request."""
        prefix, _, rest = request.path.removeprefix("/").partition("/")
        if secrets.compare_digest(prefix.encode(), self.secret.encode()):
            return self._internal(request, rest)
        if post_forms.is_post_form(request):
            put = post_forms.put_of(request)
            return put if isinstance(put, Response) else self(put)
        scope = aws_requests.credential_scope(request)
        if scope is not None:
            access_key, service = scope
            caller = self._keyring.caller(access_key)
            return self._aws(request, caller, service) if caller else _invalid_token_response(service)
        return self.http_api.handle(request) if self.http_api else Response(503)

    def invoke_by_machine(self, request: Request) -> Response:
        """Respond to an Invoke request of a machine's Task."""
        return self._aws(request, STEP_FUNCTIONS, "lambda")

    def _internal(self, request: Request, path: str) -> Response:
        """Respond to a request whose path begins with this run's secret."""
        kind, _, rest = path.partition("/")
        match kind:
            case "runtime":
                return self._runtime.handle(request, rest)
            case "credentials":
                return self._credentials(request)
        return Response(404)

    def _credentials(self, request: Request) -> Response:
        """Return the container credentials of SnapStart functions; those of a zygote end with its snapshot."""
        token = request.headers.get("authorization", "")
        caller = self._keyring.caller(token)
        if caller is None:
            return Response(403)
        seconds = SANDBOX_CREDENTIALS_SECONDS if caller.id in self._sandboxes else ZYGOTE_CREDENTIALS_SECONDS
        body = {
            "AccessKeyId": token,
            "SecretAccessKey": token[::-1],
            "Token": "local",
            "Expiration": (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return Response(200, (("content-type", "application/json"),), json.dumps(body).encode())

    def _aws(self, request: Request, caller: aws_requests.Caller, service: str) -> Response:
        sandbox = self._sandboxes[caller.id][0] if caller.id in self._sandboxes else None
        current = sandbox.current if sandbox else None
        recorded = aws_requests.to_aws_request(request, caller, service, current.id if current else None)
        self.requests.append(recorded)
        if len(self.requests) > 2 * MAX_RECORDED_REQUESTS:
            del self.requests[:-MAX_RECORDED_REQUESTS]
        hook = self.on_request
        if hook is None:
            return self._forward(request, service)
        try:
            hook(recorded, "before")
            _require_running(sandbox)
            response = self._forward(request, service)
            hook(recorded, "after")
            _require_running(sandbox)
        except aws_requests.InjectedResponse as fault:
            return fault.response
        return response

    def _forward(self, request: Request, service: str) -> Response:
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


def _require_running(sandbox: Sandbox | None) -> None:
    """Drop the connection of a sandbox that a hook has killed."""
    if sandbox is not None and sandbox.exited.is_set():
        raise DropConnection


def _invalid_token_response(service: str) -> Response:
    """Return AWS's response to credentials that it never issued."""
    message = "The security token included in the request is invalid."
    if service == "s3":
        body = f"<Error><Code>InvalidAccessKeyId</Code><Message>{message}</Message></Error>"
        return Response(403, (("content-type", "application/xml"),), body.encode())
    error = {"__type": "UnrecognizedClientException", "message": message}
    headers = (("content-type", "application/x-amz-json-1.0"), ("x-amzn-ErrorType", "UnrecognizedClientException"))
    return Response(403, headers, json.dumps(error).encode())
