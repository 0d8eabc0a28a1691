"""A client of the REST API's handler, with API Gateway's events."""

import base64
import gzip
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from infra.local.login import LocalLogin
from rest_api import handler as door
from tests.lambda_context import Context

EVENTS = Path(__file__).parents[2] / "events"


@dataclass(frozen=True)
class Answer:
    """The response to a request."""

    status: int
    headers: dict[str, str]
    text: str
    is_base64: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class RestClient:
    """One person's program."""

    login: LocalLogin
    user: str | None = "uma"
    headers: dict[str, str] = field(default_factory=dict)

    def of(self, user: str | None) -> "RestClient":
        """Return the program of another person; None for one without a token."""
        return replace(self, user=user)

    def with_headers(self, **headers: str) -> "RestClient":
        """Return a program that sends these headers, too."""
        return replace(self, headers=self.headers | {name.replace("_", "-"): value for name, value in headers.items()})

    def event(self, method: str, path: str, body: Any = None, **query: Any) -> dict[str, Any]:
        """Return the event of a request; a body that is no text is sent as JSON."""
        event = json.loads((EVENTS / "rest_api_call_tool.json").read_text("utf-8"))
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        event |= {"routeKey": "ANY /v1/{proxy+}", "rawPath": path, "rawQueryString": urlencode(query), "body": text}
        event["queryStringParameters"] = {name: str(value) for name, value in query.items()}
        event["requestContext"]["http"] |= {"method": method, "path": path}
        headers = {name: value for name, value in event["headers"].items() if name != "authorization"}
        own = {"authorization": f"Bearer {self.login.mint(self.user)}"} if self.user else {}
        return event | {"headers": headers | own | self.headers}

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Answer:
        return handle(self.event(method, path, body, **query))

    def get(self, path: str, **query: Any) -> Answer:
        return self.send("GET", path, **query)

    def post(self, path: str, body: Any = None) -> Answer:
        return self.send("POST", path, body)

    def call(self, name: str, **more: Any) -> Answer:
        """Call a tool."""
        return self.post("/v1/tools/call", {"name": name, **more})


def handle(event: dict[str, Any]) -> Answer:
    """Send an event to the handler."""
    response = door.handler(event, Context())
    text, is_base64 = response.get("body") or "", response.get("isBase64Encoded", False)
    if response["headers"].get("content-encoding") == "gzip":
        text, is_base64 = gzip.decompress(base64.b64decode(text)).decode(), False
    return Answer(response["statusCode"], response["headers"], text, is_base64)
