"""A company's directory as a client of the REST API's handler."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from mcpist.people import directory
from mcpist.people.organization import Organization
from tests.rest_api.rest_client import Answer, RestClient


@dataclass(frozen=True)
class Scim:
    """The directory of one organization."""

    client: RestClient

    def send(self, method: str, path: str, body: Any = None, **query: Any) -> Answer:
        return self.client.send(method, f"/scim/v2{path}", body, **query)

    def make_user(self, name: str, **attributes: Any) -> str:
        made = self.send("POST", "/Users", {"userName": name, **attributes})
        assert made.status == 201, made.text
        return str(made.json["id"])

    def patch(self, path: str, *operations: dict[str, Any]) -> Answer:
        return self.send("PATCH", path, {"Operations": list(operations)})

    def problem(self, method: str, path: str, body: Any = None, **query: Any) -> tuple[int, str]:
        """The status and the type of an error."""
        answer = self.send(method, path, body, **query)
        assert answer.json["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"], answer.text
        assert answer.json["status"] == str(answer.status)
        return answer.status, answer.json.get("scimType", "")


def scim_with(rest: RestClient, token: str) -> Scim:
    named = {"authorization": f"Bearer {token}", "user-agent": "Okta SCIM Client 1.0.0"}
    return Scim(rest.of(None).with_headers(**named, content_type="application/scim+json"))


@pytest.fixture
def scim(rest: RestClient) -> Scim:
    """The directory of acme."""
    return scim_with(rest, rest.of("ada").post("/v1/directory/token", {}).json["token"])


@pytest.fixture
def acme() -> Callable[[], Organization]:
    """The organization as it is now."""
    return lambda: directory.read("acme")
