"""Companies' issuers that let clients act for their people, and the clients that an organization allows."""

import json
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist import settings
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError, ClientNotAllowed, MembershipRequired
from mcpist.people import client_logins, directory, identity
from mcpist.people.organization import TrustedIssuer
from tests import members
from tests.audit_items import audit_items
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.core.loopback import Reply, Service, json_response, serving
from tests.login.conftest import REDIRECT, Program, Visitor, query, register, tokens_of, verified
from tests.login.signers import Signer

type Door = Callable[..., dict[str, Any]]
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@pytest.fixture
def signer() -> Signer:
    return Signer()


@pytest.fixture
def okta(door: Door, signer: Signer) -> Iterator[Service]:
    """A company's issuer."""
    assert door
    with serving() as service:
        publish(service, signer)
        yield service


def publish(service: Service, signer: Signer) -> None:
    service.reply_with(
        json_response({"issuer": service.url, "jwks_uri": f"{service.url}/k"}), json_response(signer.jwks)
    )


def trust(*issuers: TrustedIssuer, organization: str = "acme") -> None:
    directory.change(organization, lambda before: replace(before, trusted_issuers=issuers))


def allow(*clients: str, organization: str = "acme") -> None:
    directory.change(organization, lambda before: replace(before, clients=clients))


class Agent(Program):
    """A client that proves itself by a secret."""

    secret = ""

    def bring(self, assertion: str, **changes: str) -> dict[str, Any]:
        form = {"grant_type": JWT_BEARER, "assertion": assertion, "client_secret": self.secret, **changes}
        return self.ask(**{name: value for name, value in form.items() if value})


@pytest.fixture
def agent(door: Door) -> Agent:
    made = register(door, token_endpoint_auth_method="client_secret_post")
    agent = Agent(door, made["client_id"])
    agent.secret = made["client_secret"]
    return agent


def jag(issuer: Service, signer: Signer, client: Program, kind: str = "oauth-id-jag+jwt", **changes: Any) -> str:
    now = int(time.time())
    usual = {"iss": issuer.url, "sub": "zoe", "aud": PUBLIC_URL, "resource": f"{AUDIENCE}/acme", "iat": now}
    usual |= {"client_id": client.client_id, "exp": now + 300, "jti": secrets.token_hex(8), "email": "zoe@acme.example"}
    return signer.sign({**usual, **changes}, kind)


def test_a_company_lets_a_client_act_for_a_person_who_becomes_a_user(
    door: Door, okta: Service, signer: Signer, agent: Agent
) -> None:
    trust(TrustedIssuer(okta.url, adds_people=True, roles=("members", "gone")))
    tokens = agent.bring(jag(okta, signer, agent))
    assert (tokens["status"], tokens["expires_in"], tokens["scope"]) == (200, 600, "mcp"), tokens
    assert "refresh_token" not in tokens
    known = verified(tokens)
    assert (known.subject, known.organizations) == (Subject(okta.url, "zoe"), ("acme",))
    caller = directory.identify(known.subject, within=known.organizations)
    assert (caller.name, caller.role_names, caller.system_role) == ("zoe@acme.example", ("members",), "user")
    assert agent.bring(jag(okta, signer, agent, resource=AUDIENCE))["status"] == 200
    assert len(directory.read("acme").users) == 3
    said = [(row["tool"], row["client_id"]) for row in audit_items("acme")]
    assert said == [("users.provision", agent.client_id), ("login.assert", agent.client_id)]
    # The person sees and ends it like any other program.
    (shown,) = client_logins.find(known.subject)
    client_logins.end(known.subject, shown.id)
    with pytest.raises(AuthenticationError):
        verified(tokens)
    metadata = json.loads(door("GET", "/.well-known/oauth-authorization-server")["body"])
    assert JWT_BEARER in metadata["grant_types_supported"]
    assert metadata["authorization_grant_profiles_supported"] == ["urn:ietf:params:oauth:grant-profile:id-jag"]


def test_a_person_who_is_no_user_is_refused_unless_the_organization_says_otherwise(
    okta: Service, signer: Signer, agent: Agent
) -> None:
    trust(TrustedIssuer(okta.url, roles=("members",)))
    assert agent.bring(jag(okta, signer, agent))["error"] == "invalid_grant"
    assert len(directory.read("acme").users) == 2
    members.put_user("acme", "zoe", name="Zoe", subject=Subject(okta.url, "zoe"))
    directory.access_cache.clear()
    assert agent.bring(jag(okta, signer, agent))["status"] == 200
    # Whoever was added and has not accepted is no user yet.
    directory.change("acme", lambda before: before.with_user(replace(before.user("zoe"), acceptance="waiting")))
    directory.access_cache.clear()
    assert agent.bring(jag(okta, signer, agent))["error"] == "invalid_grant"


NOW = int(time.time())
WRONG = {
    "another audience": {"aud": "https://evil.example"},
    "the endpoint as audience": {"aud": AUDIENCE},
    "several audiences": {"aud": [PUBLIC_URL, "https://evil.example"]},
    "another client": {"client_id": "other"},
    "no client": {"client_id": None},
    "another resource": {"resource": "https://evil.example/mcp"},
    "a resource like ours": {"resource": f"{AUDIENCE}.evil.example"},
    "no resource": {"resource": None},
    "an endless subject": {"sub": "z" * 9_000, "resource": AUDIENCE},
    "an endless issuer": {"iss": "https://evil.example/" + "z" * 9_000, "resource": AUDIENCE},
    "an endless organization": {"resource": f"{AUDIENCE}/{'z' * 9_000}"},
    "several resources": {"resource": [AUDIENCE]},
    "an organization that there is not": {"resource": f"{AUDIENCE}/nowhere"},
    "an organization that trusts nobody": {"resource": f"{AUDIENCE}/globex"},
    "nobody's organization": {"resource": AUDIENCE, "sub": "nobody"},
    "another issuer": {"iss": "https://evil.example"},
    "expired": {"exp": NOW - 3_600},
    "for too long": {"exp": NOW + 86_400},
    "old": {"iat": NOW - 3_600},
    "of no age": {"iat": None},
    "of the future": {"iat": NOW + 3_600},
    "no jti": {"jti": None},
    "no subject": {"sub": None},
    "an ID token": {"kind": "JWT"},
    "an access token": {"kind": "at+jwt"},
}


def test_an_assertion_for_something_else_is_refused(okta: Service, signer: Signer, agent: Agent) -> None:
    trust(TrustedIssuer(okta.url, adds_people=True))
    members.put_organization("globex", name="Globex")
    answers = {name: agent.bring(jag(okta, signer, agent, **changes)) for name, changes in WRONG.items()}
    assert {name: answer for name, answer in answers.items() if answer.get("error") != "invalid_grant"} == {}
    # The tables of these tests take keys of any length, those of AWS do not.
    endless = [answer["error_description"] for name, answer in answers.items() if name.startswith("an endless")]
    assert [text for text in endless if "a claim is too long" not in text] == []
    assert not any("globex" in answer["error_description"].lower() for answer in answers.values())
    assert agent.bring(jag(okta, Signer(), agent))["error"] == "invalid_grant"
    assert agent.bring(jag(okta, Signer(key_id="k2"), agent))["error"] == "invalid_grant"
    assert agent.bring("")["error"] == "invalid_grant"
    assert agent.bring("x" * 50_000)["status"] >= 400
    assert len(directory.read("acme").users) == 2


def test_an_assertion_counts_once_and_for_its_authenticated_client(
    door: Door, okta: Service, signer: Signer, agent: Agent
) -> None:
    trust(TrustedIssuer(okta.url, adds_people=True))
    assertion = jag(okta, signer, agent)
    assert agent.bring(assertion, client_secret="guessed")["error"] == "invalid_client"
    thief = Agent(door, register(door)["client_id"])
    assert thief.bring(jag(okta, signer, thief))["error"] == "invalid_client", "a client without a proof"
    assert agent.bring(assertion)["status"] == 200
    assert agent.bring(assertion)["error"] == "invalid_grant"


def test_an_issuer_speaks_for_nobody_in_another_organization(
    okta: Service, signer: Signer, agent: Agent, login: LocalLogin
) -> None:
    trust(TrustedIssuer(okta.url, adds_people=True))
    members.put_organization("globex", name="Globex")
    members.put_user("globex", "zoe", name="Zoe", subject=Subject(okta.url, "zoe"))
    assert agent.bring(jag(okta, signer, agent, resource=f"{AUDIENCE}/globex"))["error"] == "invalid_grant"
    known = verified(agent.bring(jag(okta, signer, agent)))
    assert directory.identify(known.subject, organization="acme", within=known.organizations).organization == "acme"
    with pytest.raises(ClientNotAllowed):
        directory.identify(known.subject, organization="globex", within=known.organizations)
    # Nor for the people of another issuer in its own.
    other = jag(okta, signer, agent, iss=login.issuer, sub="ada")
    assert agent.bring(other)["error"] == "invalid_grant"
    with pytest.raises(MembershipRequired):
        directory.identify(Subject(okta.url, "ada"))


def test_keys_of_an_issuer_that_points_inside_or_never_ends_are_not_read(
    okta: Service, signer: Signer, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    trust(TrustedIssuer(okta.url, adds_people=True))
    inside = json_response({}, 302, location="http://169.254.169.254/latest/meta-data")
    huge = json_response({**signer.jwks, "more": "x" * 2_000_000})
    for keys in (inside, huge, Reply(b"<html>")):
        okta.reply_with(json_response({"issuer": okta.url, "jwks_uri": f"{okta.url}/k"}), keys)
        identity.named_keys.clear()
        assert agent.bring(jag(okta, signer, agent))["error"] == "temporarily_unavailable"
    publish(okta, signer)
    identity.named_keys.clear()
    monkeypatch.setenv("LOCAL_SERVICES", "off")
    monkeypatch.setenv("ISSUER", "https://login.example.com")  # one on loopback lets requests go there
    settings.settings.cache_clear()
    assert agent.bring(jag(okta, signer, agent))["error"] == "temporarily_unavailable"
    assert okta.received == []


# -- the clients that an organization allows -----------------------------------------------------------


def test_a_client_that_is_not_allowed_gets_no_consent_and_no_token(door: Door, program: Program, uma: Visitor) -> None:
    tokens = tokens_of(program, uma)
    asked = uma.log_in(program.page())
    allow("claude.ai", "Codex")
    page = uma.log_in(Program(door, program.client_id).page())
    assert (page["statusCode"], "does not allow this client" in page["body"]) == (403, True)
    assert program.redeem(query(asked)["code"])["error"] == "invalid_grant"
    assert program.refresh(tokens["refresh_token"])["error"] == "invalid_grant"
    allow("CLAUDE")
    assert uma.log_in(program.page())["statusCode"] == 303
    # The console is no client of people.
    allow("nothing")
    console = Program(door, client_logins.CONSOLE_CLIENT, f"{PUBLIC_URL}/connect/login")
    assert "code" in query(uma.log_in(console.page()))


def test_a_host_is_proved_and_a_name_is_no_host(door: Door, uma: Visitor) -> None:
    allow("client.example")
    hosted = Program(door, register(door, client_name="Anything", redirect_uris=[REDIRECT])["client_id"])
    assert uma.log_in(hosted.page())["statusCode"] == 200
    for changes in (
        {"client_name": "client.example"},
        {"client_name": "client.example", "redirect_uris": ["https://evil.example/callback"]},
        {"redirect_uris": [REDIRECT, "https://evil.example/callback"]},
        {"redirect_uris": ["http://client.example:80/callback"]},
    ):
        made = register(door, **changes)
        if made["status"] == 201:
            uri = made["redirect_uris"][-1]
            assert uma.log_in(Program(door, made["client_id"], uri).page())["statusCode"] == 403, changes


def test_a_client_acts_only_where_it_is_allowed(door: Door, program: Program, uma: Visitor, login: LocalLogin) -> None:
    members.put_organization("globex", name="Globex")
    members.put_user("globex", "uma", name="Uma", subject=Subject(login.issuer, "uma"))
    directory.access_cache.clear()
    allow("Codex", organization="globex")
    page = uma.log_in(program.page())
    assert "acme" in page["body"]
    assert "globex" not in page["body"]
    known = verified(program.redeem(query(uma.decide(page))["code"]))
    assert known.organizations == ("acme",)
    assert directory.identify(known.subject, within=known.organizations).organization == "acme"
    with pytest.raises(ClientNotAllowed):
        directory.identify(known.subject, organization="globex", within=known.organizations)
    codex = Program(door, register(door, client_name="Codex")["client_id"])
    assert verified(tokens_of(codex, uma)).organizations == ()


def test_a_company_lets_only_allowed_clients_act(okta: Service, signer: Signer, agent: Agent) -> None:
    trust(TrustedIssuer(okta.url, adds_people=True))
    allow("Codex")
    assert agent.bring(jag(okta, signer, agent))["error"] == "invalid_grant"
    allow("Claude")
    assert agent.bring(jag(okta, signer, agent))["status"] == 200
