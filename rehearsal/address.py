"""An address on this machine for the deployed API, as an owner's own proxy in front of it has: for `PublicUrl`.

Only behind such an address does a deployment accept an authorization server on loopback. The engine's API Gateway loses
cookies (see gaps.py), so requests that have one become the deployed functions' events here, as in the embedded AWS. It
listens before the stack is there, since the stack's first deployment names it.
"""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2

from infra.local.http_api import HttpApi
from infra.local.invocation import InvocationResult
from infra.local.server import LoopbackRequest, LoopbackResponse, LoopbackServer, listen
from infra.local.template import Function, read_template
from infra.source import ROOT
from rehearsal.account import Stack

TIMEOUT_SECONDS = 120
_PER_CONNECTION = {"connection", "content-length", "transfer-encoding", "host"}


@dataclass(frozen=True)
class DeployedFunction:
    """A function of the stack behind its alias `live`."""

    function: Function
    stack: Stack

    def invoke(self, event: bytes, arn: str, *, timeout_seconds: float | None = None) -> InvocationResult:  # noqa: ARG002 - the ARN and the time limit are the stack's
        """Run one event."""
        name = self.stack.functions[self.function.id]
        answer = self.stack.engine.client("lambda").invoke(FunctionName=name, Qualifier="live", Payload=event)
        return InvocationResult(answer["Payload"].read(), answer.get("FunctionError"))


@contextmanager
def serving(stack: Stack) -> Iterator[str]:
    """Forward each request to the stack's API until the context ends, and yield the address."""
    engine = stack.engine
    # Only which routes and functions there are is read here: all that a stack has whose login asks an issuer.
    template = read_template(ROOT / "template.yaml", {"Issuer": "https://login.invalid", "LoginClientId": "rehearsal"})
    functions = {one.id: DeployedFunction(one, stack) for one in template.functions}
    api = HttpApi(template.routes, functions, domain="127.0.0.1")
    trusted = ssl.create_default_context(cafile=engine.certificates.authority)
    with httpx2.Client(base_url=engine.url, verify=trusted, timeout=TIMEOUT_SECONDS, trust_env=False) as client:

        def forward(request: LoopbackRequest) -> LoopbackResponse:
            if "cookie" in request.headers:
                return api.handle(request)
            headers = [(name, value) for name, value in request.headers.items() if name.lower() not in _PER_CONNECTION]
            path = f"{request.path}?{request.query}" if request.query else request.path
            sent = [*headers, ("host", stack.api_host)]
            with client.stream(request.method, path, headers=sent, content=request.body) as answer:
                content = b"".join(answer.iter_raw())  # compressed, as its headers say
            kept = [(name, value) for name, value in answer.headers.multi_items() if name not in _PER_CONNECTION]
            return LoopbackResponse(answer.status_code, tuple(kept), content)

        listener = listen("127.0.0.1", 0)
        with LoopbackServer(listener, forward):
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
