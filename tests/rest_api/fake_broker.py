"""A token broker with accounts in memory, in the place of the function."""

import io
import json
from typing import Any

from mcpist.aws import clients

GRANT = {
    "owner": "user#eve",
    "label": "main",
    "default": True,
    "provider": "github",
    "services": ["github"],
    "account_id": "7",
    "account_name": "eve",
    "kind": "key",
    "scopes": [],
    "open_to": [],
    "works": True,
    "expires_at": None,
    "version": 1,
    "created_at": 1,
    "updated_at": 1,
}


class FakeBroker:
    """The broker's answers by operation, and the messages that it got."""

    def __init__(self) -> None:
        clients.session().register("before-call.lambda.Invoke", self.answer)
        self.grants: list[dict[str, Any]] = []
        self.refusal: Any = None
        self.messages: list[dict[str, Any]] = []
        self.answers: dict[str, Any] = {
            "paste": {"outcome": "asks", "service": "github", "question": "0" * 64},
            "confirm": {"outcome": "connected", "service": "github"},
            "revoke": {"revoked": True, "kept": [], "proof": {"deleted": True}},
            "status": {"grants": []},
            "remove_app": {"removed": True},
            "offer": lambda message: {"services": [{"service": one, "consent": False} for one in message["services"]]},
        }

    def answer(self, params: Any, **_: Any) -> Any:
        """Answer one invocation, as AWS would."""
        message = json.loads(params["body"])
        if message["operation"] in {"ask", "run"}:
            return None  # the program runner's
        self.messages.append(message)
        result = self._result(message)
        payload = {"Payload": io.BytesIO(json.dumps(result).encode()), "ResponseMetadata": {"RequestId": "i1"}}
        return type("Response", (), {"status_code": 200}), payload

    def _result(self, message: dict[str, Any]) -> dict[str, Any]:
        answer = self.answers.get(message["operation"])
        if self.refusal:
            return {"error": self.refusal}
        if answer is not None:
            return {"result": answer(message) if callable(answer) else answer}
        match message["operation"]:
            case "list":
                owner = f"user#{message['user']}" if "user" in message else f"role#{message.get('role')}"
                return {"result": {"grants": [row for row in self.grants if row["owner"] == owner], "cursor": ""}}
            case "kill":
                killed, self.grants = self.grants, []
                return {"result": {"killed": [{"deleted": True} for _ in killed], "dropped": 0, "more": False}}
            case operation:
                raise NotImplementedError(operation)
