"""Service users, and an organization's choice of clients, by REST."""

import pytest

from mcpist.people import directory
from tests.conftest import PUBLIC_URL
from tests.login.signers import Signer
from tests.rest_api.rest_client import RestClient

ROBOT = {"user": "robot", "name": "Robot", "roles": ["members"]}


def test_a_service_user_is_made_changed_and_removed_by_administrators(rest: RestClient) -> None:
    ada = rest.of("ada")
    made = ada.post("/v1/services", ROBOT)
    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    assert made.json["token_endpoint"] == f"{PUBLIC_URL}/login/token"
    shown = ada.get("/v1/users/robot").json
    assert (shown["kind"], shown["roles"], shown["acceptance"]) == ("service", ["members"], "accepted")
    assert shown["subject"]["sub"] == made.json["client_id"]
    assert made.json["client_secret"] not in ada.get("/v1/organization").text + ada.get("/v1/audit").text
    renewed = ada.post("/v1/services/robot/credentials", {"public_key": Signer().pem})
    assert (renewed.status, renewed.json["client_secret"]) == (201, None)
    assert ada.post("/v1/services", ROBOT).json["code"] == "CONFLICT"
    assert ada.post("/v1/services/uma/credentials", {}).json["code"] == "USER_NOT_FOUND"
    assert rest.of("uma").post("/v1/services", ROBOT).json["code"] == "AUTHORIZATION_ERROR"
    whole = ada.get("/v1/organization").json
    assert whole["users"]["robot"]["kind"] == "service"
    assert ada.send("PUT", "/v1/organization", whole).status == 200
    assert ada.get("/v1/users/robot").json["acceptance"] == "accepted"
    actions = [row["tool"] for row in ada.get("/v1/audit").json["rows"]]
    assert {"services.create", "services.credentials"} <= set(actions)


@pytest.mark.parametrize(
    "body",
    [
        {"public_key": "-----BEGIN PRIVATE KEY-----"},
        {"jwks_url": "http://169.254.169.254/keys"},
        {"jwks_url": "file:///etc/passwd"},
        {"public_key": Signer().pem, "jwks_url": "https://robot.example/jwks.json"},
        {"roles": ["admins"]},
        {"system_role": "admin"},
    ],
)
def test_a_wrong_service_user_is_refused(rest: RestClient, body: dict[str, object]) -> None:
    assert rest.of("ada").post("/v1/services", ROBOT | body).status == 400
    assert "robot" not in directory.read("acme").users


def test_an_organization_chooses_clients_and_issuers(rest: RestClient) -> None:
    ada = rest.of("ada")
    trusted = {"issuer": "https://acme.okta.example/", "adds_people": True, "roles": ["members"]}
    changed = ada.send("PATCH", "/v1/organization", {"clients": ["claude.ai", "Codex"], "trusted_issuers": [trusted]})
    assert changed.status == 200, changed.text
    whole = ada.get("/v1/organization").json
    assert whole["clients"] == ["claude.ai", "Codex"]
    assert whole["trusted_issuers"] == [trusted | {"issuer": "https://acme.okta.example"}]
    ada.send("PATCH", "/v1/users/uma", {"name": "U."})
    assert ada.get("/v1/organization").json["clients"] == ["claude.ai", "Codex"]
    wrong = [PUBLIC_URL, "http://issuer.example", "https://issuer.example/#a", "issuer"]
    for issuer in wrong:
        assert ada.send("PATCH", "/v1/organization", {"trusted_issuers": [{"issuer": issuer}]}).status == 400, issuer
    unknown = {"issuer": "https://issuer.example", "roles": ["admins"]}
    assert ada.send("PATCH", "/v1/organization", {"trusted_issuers": [unknown]}).status == 404
    assert ada.send("PATCH", "/v1/organization", {"clients": [], "trusted_issuers": []}).status == 200
    assert ada.get("/v1/organization").json["clients"] == []
