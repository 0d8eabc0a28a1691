"""Connected accounts by REST."""

import io
import json
from typing import Any

import pytest

from mcpist.aws import clients
from tests.rest_api.rest_client import RestClient

ROW = {
    "id": "g1",
    "service": "github",
    "owner": "user#uma",
    "label": "main",
    "default": True,
    "account_id": "7",
    "account_name": "octocat",
    "scopes": ["repo"],
    "open_to": [],
    "expires_at": None,
    "version": 1,
    "usable": True,
    "created_at": "2026-11-22T10:00:00+00:00",
    "updated_at": "2026-11-22T10:00:00+00:00",
    "acts": True,
}
SHARED = {**ROW, "owner": "role#members", "acts": False}


@pytest.fixture
def asked(rest: RestClient) -> list[dict[str, Any]]:  # noqa: ARG001 - it makes AWS
    """The messages that the broker received; it knows two accounts of GitHub."""
    messages: list[dict[str, Any]] = []

    def invoke(params: dict[str, Any], **_: Any) -> Any:
        message = json.loads(params["body"])
        messages.append(message)
        result = {"grants": [ROW, SHARED]} if message["operation"] == "status" else {"revoked": True, "kept": []}
        payload = {
            "Payload": io.BytesIO(json.dumps({"result": result}).encode()),
            "ResponseMetadata": {"RequestId": "i"},
        }
        return type("Response", (), {"status_code": 200}), payload

    clients.session().register("before-call.lambda.Invoke", invoke)
    return messages


def test_one_of_several_accounts_is_listed_and_disconnected_by_its_label(
    rest: RestClient, asked: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SHARED, "label", "work")
    assert [one["id"] for one in rest.get("/v1/connections").json["connections"]] == ["github", "github~work@members"]
    rest.send("DELETE", "/v1/connections/github~work@members")
    revoked = next(message for message in asked if message["operation"] == "revoke")
    assert (revoked["service"], revoked["account"], revoked["role"]) == ("github", "work", "members")


@pytest.mark.usefixtures("asked")
def test_accounts_are_listed_with_the_services_that_lack_one(rest: RestClient) -> None:
    body = rest.get("/v1/connections").json
    personal, shared = body["connections"]
    assert (personal["id"], personal["title"], personal["account"], personal["acts"]) == (
        "github",
        "GitHub",
        "octocat",
        True,
    )
    assert (shared["id"], shared["acts"]) == ("github@members", False)
    assert "github" not in body["missing"]
    assert body["missing"]["notion"].endswith("/connect/notion?organization=acme&user=uma")
    assert "version" not in personal
    assert {"github", "notion"} <= {*body["services"]}
    assert "rag" not in body["services"]


def test_an_account_is_disconnected(rest: RestClient, asked: list[dict[str, Any]]) -> None:
    answer = rest.send("DELETE", "/v1/connections/github")
    assert (answer.status, answer.json["result"]["revoked"]) == (200, True)
    revoke = asked[-1]
    assert (revoke["operation"], revoke["service"], "role" in revoke) == ("revoke", "github", False)
    rest.send("DELETE", "/v1/connections/github@members")
    assert asked[-1]["role"] == "members"


def test_an_account_that_is_not_there_is_not_disconnected(rest: RestClient, asked: list[dict[str, Any]]) -> None:
    answer = rest.send("DELETE", "/v1/connections/notion")
    assert (answer.status, answer.json["code"]) == (404, "CONNECTION_NOT_FOUND")
    assert [message["operation"] for message in asked] == ["status"]
