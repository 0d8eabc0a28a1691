"""Several issuers know people: an address chooses one, and each speaks for the addresses of its own domain alone."""

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import boto3
import pytest

from infra.local.login import LocalLogin, Person
from login import identity_provider
from mcpist import settings
from mcpist.caller import Subject
from mcpist.memory import forget_entries
from mcpist.people.company import address_subject
from mcpist.people.issuers import by_domain, issuer_of, own_issuer
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.login.conftest import Program, Visitor, query, verified
from tests.members import put_user

type Door = Callable[..., dict[str, Any]]


@pytest.fixture
def globex(door: Door, monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalLogin]:
    """Another company's issuer."""
    assert door
    people = [Person("gil", "Gil", "gil@globex.com", "user")]
    with LocalLogin(people, audience=AUDIENCE) as issuer:
        issuer.register("globex-client", redirect_uri=f"{PUBLIC_URL}/login/callback/globex.com")
        chosen = {"globex.com": {"issuer": issuer.issuer, "client_id": "globex-client"}}
        monkeypatch.setenv("ISSUERS_BY_DOMAIN", json.dumps(chosen))
        settings.settings.cache_clear()
        forget_entries()
        yield issuer
    settings.settings.cache_clear()


def begin(visitor: Visitor, program: Program, address: str) -> str:
    """Fill the form of the page that asks for an address, and return where the login leads."""
    page = visitor.open(program.page())
    assert page["statusCode"] == 200
    assert "Your address at work" in page["body"]
    fields = dict(re.findall(r'<input type="hidden" name="(.*?)" value="(.*?)">', page["body"]))
    assert fields.pop("state") == "s-1"
    given = {name: unescape(value) for name, value in fields.items()} | {"state": "s-1", "login_hint": address}
    return str(visitor.open(f"/login/authorize?{urlencode(given)}")["headers"]["location"])


def test_an_address_chooses_the_issuer(door: Door, program: Program, globex: LocalLogin, login: LocalLogin) -> None:
    assert begin(Visitor(door, "ada"), program, "ada@example.com").startswith(login.issuer)
    assert begin(Visitor(door, "ada"), program, "nobody").startswith(login.issuer)
    known = Subject(globex.issuer, "gil")
    put_user("acme", "gil", name="Gil", subject=known, roles=("members",))
    gil = Visitor(door, "gil")
    page = begin(gil, program, " gil@Globex.com ")
    assert page.startswith(globex.issuer)
    assert dict(parse_qsl(urlsplit(page).query))["login_hint"] == "gil@Globex.com"
    asked = gil.open(gil.choose(page))
    tokens = program.redeem(query(gil.decide(asked))["code"])
    assert verified(tokens).subject == known


def test_a_client_that_names_the_person_spares_the_question(uma: Visitor, program: Program, globex: LocalLogin) -> None:
    sent = uma.open(program.page(login_hint="gil@globex.com"))
    assert (sent["statusCode"], sent["headers"]["location"].startswith(globex.issuer)) == (303, True)


def test_an_issuer_does_not_speak_for_addresses_of_others(globex: LocalLogin, monkeypatch: pytest.MonkeyPatch) -> None:
    said = {"sub": "liar", "nonce": "n", "email_verified": True}
    monkeypatch.setattr(identity_provider.OidcClient, "redeem", lambda *_: {"id_token": "signed"})

    def address(domain: str, email: str) -> str:
        monkeypatch.setattr(identity_provider, "signed_claims", lambda *_, **__: ({}, said | {"email": email}))
        issuer = issuer_of(f"a@{domain}")
        return identity_provider.identify(issuer, "code", verifier="v", nonce="n").email

    assert address("globex.com", "gil@globex.com") == "gil@globex.com"
    assert address("globex.com", "ada@example.com") == ""  # the first administrator's, perhaps
    assert address("example.com", "ada@example.com") == "ada@example.com"
    assert address("example.com", "gil@globex.com") == ""
    assert globex.issuer == issuer_of("gil@globex.com").url


def test_an_address_has_one_issuer_however_it_is_written(globex: LocalLogin, monkeypatch: pytest.MonkeyPatch) -> None:
    client = {"issuer": globex.issuer, "client_id": "globex-client"}
    monkeypatch.setenv("ISSUERS_BY_DOMAIN", json.dumps({"Strasse.example": client}))
    settings.settings.cache_clear()
    for domain in ("strasse.example", "STRASSE.EXAMPLE", "straße.example", "\u017ftrasse.example"):
        assert address_subject(f"ada@{domain}") == address_subject("ada@strasse.example")
        assert issuer_of(f"ada@{domain}").url == globex.issuer, domain


def test_an_answer_of_another_issuer_is_refused(
    door: Door, program: Program, globex: LocalLogin, monkeypatch: pytest.MonkeyPatch
) -> None:
    uma, gil = Visitor(door, "uma"), Visitor(door, "gil")
    page = begin(uma, program, "uma@example.com")
    foreign = dict(parse_qsl(urlsplit(gil.choose(begin(gil, program, "gil@globex.com"))).query))
    state = dict(parse_qsl(urlsplit(page).query))["state"]
    answer = uma.open(f"/login/callback?{urlencode({**foreign, 'state': state})}")
    assert answer["statusCode"] == 401, answer["body"]
    # Most issuers do not name themselves; one that a person begins at may have led the browser to this one.
    nameless = {name: value for name, value in foreign.items() if name != "iss"} | {"state": state}
    monkeypatch.setattr(identity_provider.OidcClient, "check_issuer", lambda *_: None)
    monkeypatch.setattr(identity_provider.OidcClient, "redeem", lambda *_: pytest.fail("the code is given away"))
    answer = uma.open(f"/login/callback/globex.com?{urlencode(nameless)}")
    assert (answer["statusCode"], "another issuer" in answer["body"]) == (401, True)
    assert globex.issuer != own_issuer().url


def test_the_secret_of_a_domain_is_read_by_its_name(globex: LocalLogin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGIN_SECRETS", "/mcpist/stack/login")
    settings.settings.cache_clear()
    assert identity_provider.client_at(issuer_of("gil@globex.com")).secret == ""
    forget_entries()
    boto3.client("ssm").put_parameter(Name="/mcpist/stack/login/globex.com", Value="s3cret", Type="SecureString")
    made = identity_provider.client_at(issuer_of("gil@globex.com"))
    assert (made.issuer, made.secret) == (globex.issuer, "s3cret")
    assert "s3cret" not in repr(made)


@pytest.mark.parametrize(
    "wrong",
    [
        "[]",
        "{",
        '{"globex": {"issuer": "https://a", "client_id": "b"}}',
        '{"a.b.": {"issuer": "https://a", "client_id": "b"}}',
        '{"@a.b": {"issuer": "https://a", "client_id": "b"}}',
        '{"a.b": {"issuer": "https://a"}}',
        '{"a.b": {"issuer": 1, "client_id": "b"}}',
        '{"a.b": []}',
    ],
)
def test_what_is_wrong_in_the_setting_is_named(wrong: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        by_domain(wrong)
