"""The one port: AWS requests, the sandboxes' runtime API and the HTTP API's routes, told apart and answered."""

import json
import secrets
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from infra.local.http_api import HttpApi
from infra.local.lambda_api import LambdaApi, RuntimeApi, is_invoke
from infra.local.pool import Pool, Sandbox
from infra.local.server import Answer, App, Hangup, Request
from infra.local.traffic import AwsRequest, Caller, FaultyAnswer, Keyring, RequestHook, describe, scope_of

NURSERY_CREDENTIALS_SECONDS = 300
SANDBOX_CREDENTIALS_SECONDS = 6 * 3600
REMEMBERED_REQUESTS = 50_000
# Step Functions' interpreter signs with a key that everyone knows; its endpoint carries the secret instead.
STATES = Caller("states")


class Front:
    """Answers every request on the port; `moto` is whatever answers AWS requests that are not Lambda's Invoke."""

    def __init__(self, keyring: Keyring, sandboxes: Mapping[str, tuple[Sandbox, Pool]]) -> None:
        self.secret = secrets.token_hex(16)
        self.requests: list[AwsRequest] = []
        self.on_request: RequestHook | None = None
        self.lambda_api: LambdaApi | None = None
        self.http_api: HttpApi | None = None
        self.moto: App | None = None
        self._keyring = keyring
        self._sandboxes = sandboxes
        self._runtime = RuntimeApi(sandboxes)
        self._dynamodb = threading.Lock()

    def __call__(self, request: Request) -> Answer:
        """The answer to any request."""
        door, _, rest = request.path.removeprefix("/").partition("/")
        if secrets.compare_digest(door.encode(), self.secret.encode()):
            return self._inside(request, rest)
        scope = scope_of(request)
        if scope is not None:
            access_key, service = scope
            caller = self._keyring.caller(access_key)
            return self._aws(request, caller, service) if caller else _refused(service)
        return self.http_api.answer(request) if self.http_api else Answer(503)

    def _inside(self, request: Request, path: str) -> Answer:
        """What only those who know this run's secret can reach."""
        kind, _, rest = path.partition("/")
        match kind:
            case "runtime":
                return self._runtime.answer(request, rest)
            case "credentials":
                return self._credentials(request)
            case "states":
                # Read without the secret, as Lambda's API would be.
                inner = Request({**request.environ, "RAW_URI": f"/{rest}"}, request.headers, request.body)
                return self._aws(inner, STATES, "lambda")
        return Answer(404)

    def _credentials(self, request: Request) -> Answer:
        """The container credentials that SnapStart functions get; a nursery's own never outlive its snapshot."""
        token = request.headers.get("authorization", "")
        caller = self._keyring.caller(token)
        if caller is None:
            return Answer(403)
        seconds = SANDBOX_CREDENTIALS_SECONDS if caller.id in self._sandboxes else NURSERY_CREDENTIALS_SECONDS
        body = {
            "AccessKeyId": token,
            "SecretAccessKey": token[::-1],
            "Token": "local",
            "Expiration": (datetime.now(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        return Answer(200, (("content-type", "application/json"),), json.dumps(body).encode())

    def _aws(self, request: Request, caller: Caller, service: str) -> Answer:
        sandbox = self._sandboxes[caller.id][0] if caller.id in self._sandboxes else None
        current = sandbox.current if sandbox else None
        recorded = describe(request, caller, service, current.id if current else None)
        self.requests.append(recorded)
        if len(self.requests) > 2 * REMEMBERED_REQUESTS:
            del self.requests[:-REMEMBERED_REQUESTS]
        hook = self.on_request
        if hook is None:
            return self._forward(request, service)
        try:
            hook(recorded, "before")
            _still_there(sandbox)
            made = self._forward(request, service)
            hook(recorded, "after")
            _still_there(sandbox)
        except FaultyAnswer as fault:
            return fault.answer
        return made

    def _forward(self, request: Request, service: str) -> Answer:
        if is_invoke(request):
            assert self.lambda_api is not None
            return self.lambda_api.invoke(request)
        assert self.moto is not None
        if service == "dynamodb":
            with self._dynamodb:
                # Its caller asks again: to do both makes a long queue longer, until none is heard.
                if request.abandoned:
                    raise Hangup
                return self.moto(request)
        return self.moto(request)


def _still_there(sandbox: Sandbox | None) -> None:
    """A sandbox that a hook killed sent no request and hears no answer."""
    if sandbox is not None and sandbox.gone.is_set():
        raise Hangup


def _refused(service: str) -> Answer:
    """What AWS says to credentials that it never issued."""
    message = "The security token included in the request is invalid."
    if service == "s3":
        body = f"<Error><Code>InvalidAccessKeyId</Code><Message>{message}</Message></Error>"
        return Answer(403, (("content-type", "application/xml"),), body.encode())
    error = {"__type": "UnrecognizedClientException", "message": message}
    headers = (("content-type", "application/x-amz-json-1.0"), ("x-amzn-ErrorType", "UnrecognizedClientException"))
    return Answer(403, headers, json.dumps(error).encode())
