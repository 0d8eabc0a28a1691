"""A fake broker and a fake service for the endpoint's tests; a test decides which account is connected."""

import io
import json
from typing import Any

from mcpist.aws import clients
from mcpist.errors import ConnectionRequired, McpistError, to_message
from tests.core.loopback import Reply, Service


class FakeBroker:
    """A broker with the grant `acting`; after so many further messages that of `later` acts."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.acting: dict[str, Any] | None = None
        self.later: tuple[int, dict[str, Any]] | None = None
        self.asked: list[dict[str, Any]] = []
        self.service.replies = [Reply(b'{"login": "octocat"}')]
        clients.session().register("before-call.lambda.Invoke", self._invoke)

    @property
    def operations(self) -> list[str]:
        return [one["operation"] for one in self.asked]

    def _invoke(self, params: dict[str, Any], **_: Any) -> Any:
        message = json.loads(params["body"])
        if message["operation"] in {"ask", "run"}:
            return None  # the program runner's
        self.asked.append(message)
        if self.later is not None:
            messages, grant = self.later
            self.later = (messages - 1, grant)
            if messages == 0:
                self.acting, self.later = grant, None
        try:
            answer = {"result": self._answer(message)}
        except McpistError as error:
            answer = {"error": to_message(error)}
        payload = {"Payload": io.BytesIO(json.dumps(answer).encode()), "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), payload

    def _answer(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["operation"] == "status":
            about = {"service": "github", "acts": True, "default": True, "label": "main", "open_to": []}
            return {"grants": [{**about, "account_name": "octocat", **self.acting}] if self.acting else []}
        if self.acting is None or not self.acting["usable"]:
            raise ConnectionRequired(service="github", url="https://mcp.example.com/connect/github")
        own = {name: self.acting[name] for name in ("owner", "version", "scopes")}
        return {"token": "t1", "account_id": "1", "account_name": "octocat", "expires_at": None, **own}


def grant(version: int = 1, *, usable: bool = True, scopes: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return Uma's personal grant as the broker describes it."""
    return {"owner": "user#uma", "version": version, "usable": usable, "scopes": scopes}
