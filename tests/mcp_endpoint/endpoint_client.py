"""A client of the endpoint's handler, with API Gateway's events."""

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from infra.local.login import LocalLogin
from mcp_endpoint import handler as endpoint
from tests.lambda_context import Context

PUBLIC_URL = "https://mcp.example.com"
EVENTS = Path(__file__).parents[2] / "events"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@dataclass(frozen=True)
class EndpointClient:
    """One person's client, with its capabilities and the seconds that a request may take."""

    login: LocalLogin
    user: str = "uma"
    capabilities: dict[str, Any] = field(default_factory=dict)
    seconds: float = 29
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    def of(self, user: str) -> "EndpointClient":
        """Return the client of another person."""
        return replace(self, user=user)

    def with_capabilities(self, **capabilities: Any) -> "EndpointClient":
        """Return a client with more capabilities."""
        return replace(self, capabilities=self.capabilities | capabilities)

    def with_timeout(self, seconds: float) -> "EndpointClient":
        """Return a client whose requests must be answered within some seconds."""
        return replace(self, seconds=seconds)

    def with_headers(self, **headers: str) -> "EndpointClient":
        """Return a client that sends these headers, too."""
        return replace(self, headers=self.headers | {name.replace("_", "-"): value for name, value in headers.items()})

    @property
    def apart(self) -> "EndpointClient":
        """A client that gets each part of an answer as a block of its own."""
        return self.with_headers(x_mcpist_blocks="separate")

    def at(self, path: str) -> "EndpointClient":
        """Return a client of another path."""
        return replace(self, path=path)

    def event(self, name: str, *, token: str | None = None, **headers: str) -> dict[str, Any]:
        event = json.loads((EVENTS / f"mcp_endpoint_{name}.json").read_text("utf-8"))
        if "authorization" in event["headers"]:
            event["headers"]["authorization"] = f"Bearer {token or self.login.mint(self.user)}"
        event["rawPath"] = self.path or event["rawPath"]
        event["headers"] |= self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        return event

    def send(self, event: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        response = endpoint.handler(event, Context(self.seconds))
        return response["statusCode"], response["headers"], json.loads(response["body"] or "null")

    def ask(self, name: str, **changes: Any) -> tuple[int, dict[str, str], Any]:
        return self.send(self.event(name, **changes))

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send any request of the protocol and return its response."""
        name = params.get("name") or params.get("uri") or params.get("taskId", "")
        event = self.event("call", mcp_method=method, mcp_name=name)
        if not name:
            del event["headers"]["mcp-name"]
        message = json.loads(event["body"])
        message["method"] = method
        message["params"] = {"_meta": message["params"]["_meta"] | {CAPABILITIES: self.capabilities}, **params}
        answer: dict[str, Any] = self.send(event | {"body": json.dumps(message)})[2]
        return answer

    def result(self, name: str, /, *, more: dict[str, Any] | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a meta-tool and return its result; `more` are params of the request beside its arguments."""
        answer = self.request("tools/call", name=name, arguments=arguments, **(more or {}))
        assert "result" in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def call(self, name: str, /, **arguments: Any) -> tuple[bool, list[str]]:
        """Call a meta-tool and return whether it failed, and the texts of its result."""
        result = self.result(name, **arguments)
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        return result.get("isError", False), texts

    def error(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """Call a meta-tool and return its error."""
        failed, (text,) = self.call(name, **arguments)
        assert failed, text
        error: dict[str, Any] = json.loads(text)
        assert set(error) == {"code", "message", "hint", "details"}
        return error
