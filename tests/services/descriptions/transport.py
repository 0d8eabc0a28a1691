"""An HTTP transport that a description answers instead of the vendor."""

from typing import Any

import httpx2

from tests.services.descriptions.contract import Contract, ContractError, DescribedCall


class ContractTransport(httpx2.BaseTransport):
    """Requests that the description does not allow are refused; the others are answered by it, or as `on` says."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.calls: list[DescribedCall] = []
        self._answers: dict[str, Any] = {}

    @property
    def operations(self) -> list[str]:
        """The operations that were requested, in order."""
        return [call.operation for call in self.calls]

    def on(self, operation: str, answer: Any) -> None:
        """Let an operation answer a body that the vendor describes, or what a function of the call returns."""
        if operation not in self.contract.operations():
            raise ContractError(f"{self.contract.service}: no operation {operation!r} to be answered")
        self._answers[operation] = answer

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Answer a request."""
        headers = dict(request.headers)
        call = self.contract.check(request.method, str(request.url), headers, request.read())
        self.calls.append(call)
        status, body = self.contract.reply(call)
        if call.operation in self._answers:
            answer = self._answers[call.operation]
            body = answer(call) if callable(answer) else answer
            if isinstance(body, httpx2.Response):
                body.request = request
                return body
            if isinstance(body, tuple):
                status, body = body
            self.contract.check_reply(call, status, body)
        return httpx2.Response(status, request=request, **({} if body is None else {"json": body}))
