"""An organization's own issuer: set at run time, proved to be the domain's, and believed for its own people alone."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import boto3
import pytest

from infra.local.login import LocalLogin, Person
from login import identity_provider
from mcpist import settings
from mcpist.aws.table import directory_table
from mcpist.caller import Subject
from mcpist.errors import AuthorizationError, ClientNotAllowed, CompanyLoginNotFound, InvalidRequest
from mcpist.memory import forget_entries
from mcpist.people import company_logins, directory, issuers, provisioning
from mcpist.people.administration import Administration
from mcpist.people.company import address_subject
from mcpist.people.issuers import issuer_of, own_issuer
from mcpist.people.organization import TrustedIssuer
from tests import members
from tests.audit_items import audit_items
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.core.loopback import Reply, Service, json_response, serving
from tests.core.people.conftest import FakeAccounts
from tests.login.conftest import Program, Visitor, query, verified

type Door = Callable[..., dict[str, Any]]
DOMAIN, CLIENT = "globex.com", "globex-client"
REDIRECT = f"{PUBLIC_URL}/login/callback/{DOMAIN}"


@pytest.fixture
def ada(door: Door, login: LocalLogin, monkeypatch: pytest.MonkeyPatch) -> Administration:
    """The administrator of the organization `acme`, on AWS: what is proved there is not on one machine."""
    assert door
    monkeypatch.setenv("LOGIN_SECRETS", "/mcpist/stack/login")
    monkeypatch.setenv("LOCAL_SERVICES", "off")
    settings.settings.cache_clear()
    return Administration(directory.identify(Subject(login.issuer, "ada")), "r-1", FakeAccounts())


@pytest.fixture
def homepage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """What the domain publishes: that it belongs to `acme`."""
    with serving() as service:
        monkeypatch.setattr(company_logins, "PROOF_URL", service.url + "/{domain}/mcpist")
        service.reply_with(Reply(f"# ours\r\n{PUBLIC_URL}/mcp/acme\r\n".encode()))
        yield service


@pytest.fixture
def globex() -> Iterator[LocalLogin]:
    """The company's issuer."""
    people = [
        Person("gil", "Gil", f"gil@{DOMAIN}", "user"),
        Person("liar", "Liar", "ada@example.com", "user"),
    ]
    with LocalLogin(people, audience=AUDIENCE) as issuer:
        issuer.register(CLIENT, redirect_uri=REDIRECT)
        yield issuer


@pytest.fixture
def company() -> Iterator[Service]:
    """An issuer with scripted answers."""
    with serving() as service:
        yield service


def save(work: Administration, issuer: str, domain: str = DOMAIN, secret: str = "", **changes: str) -> None:
    company_logins.save(work, domain, **{"issuer": issuer, "client_id": CLIENT, "client_secret": secret, **changes})


def metadata(company: Service, **changes: Any) -> Reply:
    places = {f"{name}_endpoint": f"{company.url}/{name}" for name in ("authorization", "token")}
    return json_response({"issuer": company.url, **places, **changes})


def accept(company: Service) -> None:
    back = Reply(status=302, headers={"location": f"{REDIRECT}?error=login_required"})
    company.reply_with(metadata(company), back, json_response({"error": "invalid_grant"}, 400))


def log_in(door: Door, program: Program, sub: str) -> tuple[Visitor, dict[str, Any]]:
    visitor = Visitor(door, sub)
    return visitor, visitor.log_in(program.page(login_hint=f"{sub}@{DOMAIN}"))


def wrong_field(work: Administration, issuer: str, **changes: str) -> str:
    with pytest.raises(InvalidRequest) as refused:
        save(work, issuer, **changes)
    return str(refused.value.details["field"])


def test_the_people_of_a_domain_log_in_at_the_issuer_that_their_organization_names(
    ada: Administration, homepage: Service, globex: LocalLogin, door: Door, program: Program
) -> None:
    save(ada, f"{globex.issuer}/", " Globex.com ")
    assert homepage.received[0].path == f"/{DOMAIN}/mcpist"
    policy = Visitor(door, "gil").open(program.page())["headers"]["content-security-policy"]
    assert globex.issuer in policy  # where the form that asks for an address may lead
    visitor, page = log_in(door, program, "gil")
    assert (page["statusCode"], "belongs to no organization" in page["body"]) == (403, True)
    trusted = TrustedIssuer(globex.issuer, adds_people=True, roles=("members",))
    directory.change("acme", lambda before: replace(before, trusted_issuers=(trusted,)))
    visitor, page = log_in(door, program, "gil")
    tokens = program.redeem(query(visitor.decide(page))["code"])
    known = verified(tokens)
    assert (known.subject, known.organizations) == (Subject(globex.issuer, "gil"), ("acme",))
    assert directory.identify(known.subject).role_names == ["members"] or directory.identify(known.subject).roles
    # Whom it does not know by an address of the domain, it adds to nothing.
    assert log_in(door, program, "liar")[1]["statusCode"] == 403
    company_logins.remove(ada, DOMAIN)
    assert issuer_of(f"gil@{DOMAIN}") == own_issuer()
    rows = [item for item in audit_items("acme") if item["tool"].startswith("logins.")]
    assert {row["tool"] for row in rows} == {"logins.set", "logins.remove"}


def test_an_issuer_speaks_for_its_own_organization_alone(
    ada: Administration, homepage: Service, globex: LocalLogin, door: Door, program: Program
) -> None:
    save(ada, globex.issuer)
    assert homepage.received
    gil = Subject(globex.issuer, "gil")
    members.put_organization("initech", name="Initech")
    for organization in ("acme", "initech"):
        members.put_user(organization, "gil", name="Gil", subject=gil)
    visitor, page = log_in(door, program, "gil")
    assert ("acme" in page["body"], "initech" in page["body"]) == (True, False)
    tokens = program.redeem(query(visitor.decide(page))["code"])
    for known in (verified(tokens), verified(program.refresh(tokens["refresh_token"]))):
        assert known.organizations == ("acme",)
        with pytest.raises(ClientNotAllowed):
            directory.identify(gil, organization="initech", within=known.organizations)
    # The console's token, too, and when the person is no member of the organization any more.
    directory.change("acme", lambda before: before.without_user("gil"))
    forget_entries()
    console = Program(door, "console", f"{PUBLIC_URL}/connect/login")
    answer = Visitor(door, "gil").log_in(console.page(login_hint=f"gil@{DOMAIN}"))
    known = verified(console.redeem(query(answer)["code"]))
    assert (known.organizations, known.email) == (("acme",), f"gil@{DOMAIN}")
    waiting = address_subject(f"gil@{DOMAIN}")
    members.put_user("initech", "waits", name="Gil", subject=waiting)
    directory.change("initech", lambda one: one.with_user(replace(one.users["waits"], acceptance="waiting")))
    provisioning.meet(gil, known.email, "r-1", known.organizations)
    assert directory.read("initech").users["waits"].subject == waiting


def test_an_issuer_names_nobody_by_an_address_outside_its_domain(
    ada: Administration, homepage: Service, globex: LocalLogin, door: Door
) -> None:
    save(ada, globex.issuer)
    assert homepage.received
    console = Program(door, "console", f"{PUBLIC_URL}/connect/login")
    answer = Visitor(door, "liar").log_in(console.page(login_hint=f"x@{DOMAIN}"))
    known = verified(console.redeem(query(answer)["code"]))
    assert (known.subject, known.email) == (Subject(globex.issuer, "liar"), "")


def test_a_domain_belongs_to_whom_its_own_file_names(
    ada: Administration, homepage: Service, company: Service, login: LocalLogin
) -> None:
    file = f"{PUBLIC_URL}/mcp/acme".encode()
    inside = Reply(status=302, headers={"location": "http://169.254.169.254/latest"})
    for reply in (Reply(b"", 404), Reply(file, 404), Reply(file + b"2"), Reply(b"x" * 2_000_000), inside):
        accept(company)
        homepage.reply_with(reply)
        assert wrong_field(ada, company.url) == "domain", reply
    homepage.reply_with(Reply(file))
    accept(company)
    save(ada, company.url)
    # Another organization takes it only when the domain names that one in place of this.
    members.put_organization("initech", name="Initech")
    members.put_user("initech", "bob", name="Bob", subject=Subject(login.issuer, "bob"), system_role="admin")
    bob = Administration(directory.identify(Subject(login.issuer, "bob")), "r-2", FakeAccounts())
    other = f"{PUBLIC_URL}/mcp/initech".encode()
    for lines in (file, file + b"\n" + other):
        accept(company)
        homepage.reply_with(Reply(lines))
        assert wrong_field(bob, company.url) == "domain"
        assert issuer_of(f"x@{DOMAIN}").organization == "acme"
    with pytest.raises(CompanyLoginNotFound):
        company_logins.remove(bob, DOMAIN)
    accept(company)
    homepage.reply_with(Reply(other))
    save(bob, company.url)
    assert issuer_of(f"x@{DOMAIN}").organization == "initech"
    assert company_logins.find("acme") == []


def test_no_organization_takes_a_domain_of_the_operator(
    ada: Administration, homepage: Service, company: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(company)
    save(ada, company.url)
    assert homepage.received
    chosen = {DOMAIN: {"issuer": "https://login.globex.example", "client_id": "operators"}}
    monkeypatch.setenv("ISSUERS_BY_DOMAIN", json.dumps(chosen))
    settings.settings.cache_clear()
    assert issuer_of(f"x@{DOMAIN}").client_id == "operators"
    assert wrong_field(ada, company.url, domain="GLOBEX.com") == "domain"


def test_each_wrong_value_is_named(ada: Administration, homepage: Service, company: Service) -> None:
    assert homepage
    known = metadata(company)
    google = base64.urlsafe_b64encode(b"\n\x15redirect_uri_mismatch\x12").decode().rstrip("=")
    unknown = base64.urlsafe_b64encode(b"\n\x0einvalid_client").decode().rstrip("=")
    page = "https://accounts.google.com/signin/oauth/error?authError="
    fine = Reply(b"<form>redirect_uri</form>")
    for field, *replies in [
        ("issuer", Reply(b"", 404)),
        ("issuer", Reply(b"<html>")),
        ("issuer", metadata(company, issuer="https://elsewhere.example")),
        ("issuer", metadata(company, token_endpoint="http://elsewhere.example/token")),
        ("client_id", known, Reply(b"<h1>Client not found.</h1>", 400)),
        ("client_id", known, Reply(b"AADSTS700016: Application with identifier 'x' was not found")),
        ("client_id", known, Reply(status=302, headers={"location": f"{REDIRECT}?error=unauthorized_client"})),
        ("client_id", known, Reply(status=302, headers={"location": page + unknown})),
        ("redirect_uri", known, Reply(b"<h1>Invalid parameter: redirect_uri</h1>", 400)),
        ("redirect_uri", known, Reply(b"AADSTS50011: The redirect URI does not match")),
        ("redirect_uri", known, Reply(status=302, headers={"location": page + google})),
        ("client_secret", known, fine, json_response({"error": "invalid_client"}, 400)),
        ("client_secret", known, fine, Reply(b"", 401)),
        ("client_secret", known, Reply(status=302, headers={"location": page + "x"}), Reply(b"", 401)),
        ("client_secret", known, Reply(status=302, headers={"location": "http://[::1"}), Reply(b"", 401)),
    ]:
        company.reply_with(*replies)
        assert wrong_field(ada, company.url, secret="s3cret") == field, replies[-1]
    long = "x" * 501
    assert wrong_field(ada, company.url, domain="com") == "domain"
    assert wrong_field(ada, company.url, client_id=long) == "client_id"
    assert wrong_field(ada, "http://login.globex.com") == "issuer"
    for url in (PUBLIC_URL, f"{company.url}/#x", f"{company.url}/?x", "https://", f"https://{long}"):
        assert wrong_field(ada, url) == "issuer", url
    assert directory_table().query(issuers.DOMAINS_KEY) == []


def test_an_issuer_that_points_inside_never_ends_or_is_slow_is_refused(
    ada: Administration, homepage: Service, company: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert homepage
    for reply in (Reply(b"x" * 2_000_000), Reply(b"{", length=2, waits=True)):
        monkeypatch.setattr(company_logins, "CHECK_SECONDS", 0.5)
        company.reply_with(reply)
        assert wrong_field(ada, company.url) == "issuer"
    monkeypatch.setattr(company_logins, "CHECK_SECONDS", 15.0)
    company.reply_with(metadata(company, authorization_endpoint="https://169.254.169.254/latest"))
    assert wrong_field(ada, company.url) == "issuer"
    monkeypatch.setenv("ISSUER", "https://login.example.com")
    settings.settings.cache_clear()
    company.received.clear()
    for url in (company.url, company.url.replace("http:", "https:"), "https://169.254.169.254", "https://[::1]"):
        assert wrong_field(ada, url) == "issuer"
    assert company.received == []


def test_the_secret_is_written_and_shown_nowhere_else(
    ada: Administration, homepage: Service, company: Service, caplog: pytest.LogCaptureFixture
) -> None:
    assert homepage
    parameters = boto3.client("ssm")
    for secret in ("former-s3cret", "s3cret"):
        accept(company)
        save(ada, company.url, secret=secret)
    forms = [dict(parse_qsl(one.body.decode())) for one in company.received if one.method == "POST"]
    assert [form["client_secret"] for form in forms] == ["s3cret"]
    assert identity_provider.client_at(issuer_of(f"x@{DOMAIN}")).secret == "s3cret"
    (kept,) = parameters.describe_parameters()["Parameters"]
    assert (kept["Name"].startswith("/mcpist/stack/login/by/"), kept["Type"]) == (True, "SecureString")
    stored = f"{directory_table().query(issuers.DOMAINS_KEY)}{audit_items('acme')}{caplog.text}"
    assert "s3cret" not in stored
    company_logins.remove(ada, DOMAIN)
    assert parameters.describe_parameters()["Parameters"] == []


def test_an_administrator_alone_sets_a_login(ada: Administration, company: Service) -> None:
    user = replace(ada, caller=replace(ada.caller, system_role="user"))
    for attempt in (lambda: save(user, company.url), lambda: company_logins.remove(user, DOMAIN)):
        with pytest.raises(AuthorizationError):
            attempt()
    assert company.received == []


def test_an_answer_of_one_issuer_is_not_taken_to_another(
    ada: Administration, homepage: Service, globex: LocalLogin, door: Door, program: Program
) -> None:
    save(ada, globex.issuer)
    assert homepage.received
    gil, uma = Visitor(door, "gil"), Visitor(door, "uma")
    foreign = dict(parse_qsl(urlsplit(gil.to_issuer(program.page(login_hint=f"gil@{DOMAIN}"))).query))
    begun = uma.open(program.page(login_hint="uma@example.com"))["headers"]["location"]
    state = dict(parse_qsl(urlsplit(begun).query))["state"]
    answer = uma.open(f"/login/callback/{DOMAIN}?code={foreign['code']}&state={state}")
    assert (answer["statusCode"], "another issuer" in answer["body"]) == (401, True)
