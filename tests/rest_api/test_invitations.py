"""Invitations by REST: made, listed and withdrawn by administrators."""

from urllib.parse import parse_qs, urlsplit

from infra.local.login import LocalLogin
from mcpist.caller import Subject
from mcpist.people import invitations
from tests.conftest import PUBLIC_URL
from tests.rest_api.rest_client import RestClient

EVE = {"user": "eve", "name": "Eve", "roles": ["members"], "locale": "ja", "days": 3}


def test_an_invitation_is_made_listed_used_and_gone(rest: RestClient, login: LocalLogin) -> None:
    ada = rest.of("ada")
    made = ada.post("/v1/invitations", EVE)
    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    link = urlsplit(made.json["link"])
    assert f"{link.scheme}://{link.netloc}{link.path}" == f"{PUBLIC_URL}/join"
    query = {name: values[0] for name, values in parse_qs(link.query).items()}
    listed = ada.get("/v1/invitations")
    (waiting,) = listed.json["invitations"]
    assert (waiting["user"], waiting["roles"], waiting["invited_by"]) == ("eve", ["members"], "ada")
    assert waiting["expires_at"] - waiting["created_at"] == 3 * invitations.DAY_SECONDS
    assert query["code"] not in listed.text
    assert invitations.hash_of(query["code"]) not in listed.text
    subject = Subject(login.issuer, "eve-1")
    assert invitations.accept(query["organization"], query["code"], subject, "request-1") == "joined"
    assert ada.get("/v1/invitations").json == {"invitations": [], "cursor": "", "total": 0}
    assert ada.get("/v1/users/eve").json["locale"] == "ja"


def test_a_withdrawn_invitation_works_no_more_and_an_unknown_one_is_not_found(
    rest: RestClient, login: LocalLogin
) -> None:
    ada = rest.of("ada")
    code = parse_qs(urlsplit(ada.post("/v1/invitations", EVE).json["link"]).query)["code"][0]
    assert ada.post("/v1/invitations", EVE).json["code"] == "CONFLICT"
    assert ada.send("DELETE", "/v1/invitations/eve").json == {"user": "eve", "withdrawn": True}
    assert invitations.accept("acme", code, Subject(login.issuer, "eve-1"), "request-1") == "invalid"
    missing = ada.send("DELETE", "/v1/invitations/eve")
    assert (missing.status, missing.json["code"]) == (404, "INVITATION_NOT_FOUND")
    rows = ada.get("/v1/audit").json["rows"]
    assert [(row["tool"], row["outcome"]) for row in rows[:4]] == [
        ("invitations.delete", "INVITATION_NOT_FOUND"),
        ("invitations.delete", "succeeded"),
        ("invitations.create", "CONFLICT"),
        ("invitations.create", "succeeded"),
    ]


def test_only_administrators_invite_and_see_who_is_invited(rest: RestClient) -> None:
    uma = rest.of("uma")
    answers = [
        uma.post("/v1/invitations", EVE),
        uma.get("/v1/invitations"),
        uma.send("DELETE", "/v1/invitations/eve"),
    ]
    assert [(answer.status, answer.json["code"]) for answer in answers] == [(403, "AUTHORIZATION_ERROR")] * 3
    assert invitations.find("acme") == []


def test_what_an_invitation_cannot_be_is_refused(rest: RestClient) -> None:
    ada = rest.of("ada")
    for change in ({"days": 31}, {"days": 0}, {"roles": ["bosses"]}, {"user": "a#b"}, {"system_role": "admin"}):
        assert ada.post("/v1/invitations", EVE | change).status == 400, change
    assert invitations.find("acme") == []
