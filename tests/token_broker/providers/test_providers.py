"""Every provider's dialect: what is asked, word by word, whose account a token is, and how a pair is revoked."""

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from pydantic import SecretStr

from mcpist.errors import NotConfigured, RateLimitExceeded, UpstreamUnavailable
from mcpist.oauth.provider import App, ProviderAccount, Tokens
from mcpist_services import provider_name
from tests.core.loopback import Reply, json_response
from tests.faults import for_each
from tests.token_broker.provider_fakes import (
    ACCESS,
    BASIC,
    BUILT_IN,
    CALLBACK,
    CANARY,
    NAMES,
    NEW,
    OUR_APP,
    REFRESH,
    FakeProvider,
    fields,
    provider_of,
)
from token_broker.providers import find, oauth
from token_broker.providers.oauth import AccessTokenRejected

# -- what is asked -----------------------------------------------------------------------------------

SECRET_FIELDS = {"client_id": "ours", "client_secret": f"secret-{CANARY}"}
# Path, content type, Basic or fields, whether PKCE is spoken, what else stands in the body.
ASKED: dict[str, tuple[str, str, bool, bool, dict[str, str]]] = {
    "notion": ("/v1/oauth/token", "json", True, False, {}),
    "github": ("/login/oauth/access_token", "form", False, True, {}),
    "atlassian": ("/oauth/token", "json", False, False, {}),
    "supabase": ("/v1/oauth/token", "form", True, True, {}),
    "google": ("/token", "form", False, True, {}),
    "microsoft": ("/contoso.example/oauth2/v2.0/token", "form", False, True, {}),
    "slack": ("/api/oauth.v2.access", "form", True, False, {}),
    "vault": ("/token", "form", True, True, {"resource": "https://mcp.example.org/mcp"}),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_code_is_redeemed_as_the_provider_wants_it(name: str, fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of(name)
    path, kind, by_header, pkce, more = ASKED[name]
    fake.reply_with(json_response(NEW))
    fake.redeem()
    assert (fake.asked.method, fake.asked.path) == ("POST", path)
    assert kind in fake.asked.headers["content-type"]
    assert fake.asked.headers.get("authorization") == (BASIC if by_header else None)
    assert fake.asked.headers["accept"] == "application/json"
    assert fields(fake.asked) == {
        "grant_type": "authorization_code",
        "code": f"code-{CANARY}",
        "redirect_uri": CALLBACK,
        **({"code_verifier": f"verifier-{CANARY}"} if pkce else {}),
        **({} if by_header else SECRET_FIELDS),
        **more,
    }


@pytest.mark.parametrize("name", ASKED)
def test_a_token_is_refreshed_as_the_provider_wants_it(name: str, fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of(name)
    _, _, by_header, _, more = ASKED[name]
    fake.reply_with(json_response(NEW))
    fake.refresh()
    assert fields(fake.asked) == {
        "grant_type": "refresh_token",
        "refresh_token": REFRESH.get_secret_value(),
        **({} if by_header else SECRET_FIELDS),
        **more,
    }


def test_requests_to_notion_name_the_version_of_its_api(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("notion")
    fake.reply_with(json_response(NEW))
    fake.refresh()
    assert fake.asked.headers["notion-version"] == "2026-03-11"


JIRA = "read:jira-work write:jira-work read:jira-user"
PROJECTS = "read:project:jira read:servicedesk-request manage:jira-project"
BOARDS = "read:board-scope:jira-software write:board-scope:jira-software read:issue-details:jira"
SPRINTS = "read:sprint:jira-software write:sprint:jira-software delete:sprint:jira-software"
CONSENTS: dict[str, tuple[str, tuple[str, ...], dict[str, str]]] = {
    "notion": ("https://api.notion.com/v1/oauth/authorize", ("notion",), {"owner": "user"}),
    "github": ("https://github.com/login/oauth/authorize", ("github",), {"scope": "repo read:user read:org project"}),
    "atlassian": (
        "https://auth.atlassian.com/authorize",
        ("jira",),
        {
            "scope": f"{JIRA} {PROJECTS} {BOARDS} {SPRINTS} offline_access",
            "audience": "api.atlassian.com",
            "prompt": "consent",
        },
    ),
    "supabase": ("https://api.supabase.com/v1/oauth/authorize", ("supabase",), {}),
    "google": (
        "https://accounts.google.com/o/oauth2/v2/auth",
        ("google_calendar",),
        {
            "scope": "https://www.googleapis.com/auth/calendar.readonly https://www.googleapis.com/auth/calendar.events",
            "access_type": "offline",
            "prompt": "consent",
        },
    ),
    "microsoft": (
        "https://login.microsoftonline.com/contoso.example/oauth2/v2.0/authorize",
        ("microsoft_todo",),
        {"scope": "Tasks.ReadWrite User.Read offline_access"},
    ),
    "slack": (
        "https://slack.com/oauth/v2/authorize",
        ("slack",),
        {
            "user_scope": "channels:history,channels:read,channels:write,groups:history,groups:read,groups:write,"
            "im:history,im:read,im:write,mpim:history,mpim:read,mpim:write,chat:write,files:read,files:write,pins:read,"
            "pins:write,reactions:write,reminders:read,reminders:write,search:read,usergroups:read,users.profile:write,"
            "users:read,users:read.email"
        },
    ),
    "vault": (
        "https://login.example.com/authorize",
        ("vault",),
        {"version": "2", "scope": "files offline_access", "resource": "https://mcp.example.org/mcp"},
    ),
}


@pytest.mark.parametrize("name", CONSENTS)
def test_a_person_consents_where_and_to_what_the_provider_says(name: str) -> None:
    place, services, more = CONSENTS[name]
    url = oauth.authorize_url(
        provider_of(name), OUR_APP, state="s1", challenge="c1", redirect_uri=CALLBACK, services=services
    )
    parts = urlsplit(url)
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == place
    pkce = {"code_challenge": "c1", "code_challenge_method": "S256"} if ASKED[name][3] else {}
    told = {"response_type": "code", "client_id": "ours", "redirect_uri": CALLBACK, "state": "s1"}
    assert dict(parse_qsl(parts.query, strict_parsing=True)) == told | pkce | more


def test_one_consent_serves_both_services_of_atlassian() -> None:
    both = find("atlassian").scopes(["jira", "confluence"])
    assert set(both) == {*find("atlassian").scopes(["jira"]), *find("atlassian").scopes(["confluence"])}
    assert both.count("offline_access") == 1


def test_every_service_has_its_provider() -> None:
    issued = {service: name for name in BUILT_IN for service in find(name).services}
    assert (
        issued.items()
        >= {
            "confluence": "atlassian",
            "github": "github",
            "google_calendar": "google",
            "jira": "atlassian",
            "microsoft_todo": "microsoft",
            "notion": "notion",
            "slack": "slack",
            "supabase": "supabase",
        }.items()
    )
    assert issued == {service: provider_name(service) for service in issued}


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_address_is_fixed_and_encrypted(name: str) -> None:
    provider = find(name)
    for url in (provider.authorize_url, provider.token_url, provider.account_url, provider.revoke_url):
        assert not url or url.startswith("https://")
        assert "{" not in urlsplit(url).netloc


def test_a_client_id_is_escaped_in_the_header(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("notion")
    fake.reply_with(json_response(NEW))
    odd = App(client_id="our:id", client_secret=SecretStr("50%"))
    oauth.refresh(fake.provider, odd, REFRESH, seconds=5)
    sent = base64.b64decode(fake.asked.headers["authorization"].removeprefix("Basic ")).decode()
    assert sent == "our%3Aid:50%25"


@pytest.mark.parametrize("name", BUILT_IN)
def test_an_app_without_its_secret_is_not_configured(name: str, fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of(name)
    with pytest.raises(NotConfigured, match="secret is missing"):
        oauth.refresh(fake.provider, App(client_id="ours"), REFRESH, seconds=5)
    assert not fake.service.received


# -- whose account it is -----------------------------------------------------------------------------

PERSON = {"type": "user", "user": {"id": "5389", "name": "Ada", "type": "person"}}
SITES = [
    {"id": "1324-a", "name": "acme", "url": "https://acme.atlassian.net", "scopes": ["read:jira-work"]},
    {"id": "1324-a", "name": "acme", "url": "https://acme.atlassian.net", "scopes": ["read:page:confluence"]},
    {"id": "77", "name": "globex", "url": "https://globex.atlassian.net", "scopes": ["read:jira-work"]},
]
ACCOUNTS: list[tuple[str, str, Any, ProviderAccount]] = [
    (
        "notion",
        "/v1/users/me",
        {"id": "b1", "name": "App", "bot": {"owner": PERSON, "workspace_id": "w1", "workspace_name": "Acme"}},
        ProviderAccount("w1:5389", "Acme, Ada"),
    ),
    (
        "notion",
        "/v1/users/me",
        {"id": "b1", "name": "App", "bot": {"owner": {"type": "workspace"}, "workspace_name": "Acme"}},
        ProviderAccount("b1", "Acme", "bot"),
    ),
    ("github", "/user", {"id": 583231, "login": "octocat", "type": "User"}, ProviderAccount("583231", "octocat")),
    ("github", "/user", {"id": 7, "login": "ci[bot]", "type": "Bot"}, ProviderAccount("7", "ci[bot]", "bot")),
    (
        "atlassian",
        "/oauth/token/accessible-resources",
        SITES,
        ProviderAccount(
            "1324-a",
            "acme",
            scopes=("read:jira-work", "read:page:confluence"),
            site_url="https://acme.atlassian.net",
            others=(
                ProviderAccount("77", "globex", scopes=("read:jira-work",), site_url="https://globex.atlassian.net"),
            ),
        ),
    ),
    (
        "supabase",
        "/v1/organizations",
        [{"id": "org1", "name": "Acme"}],
        ProviderAccount("org1", "Acme", "organization"),
    ),
    (
        "google",
        "/calendar/v3/calendars/primary",
        {"id": "ada@example.com", "summary": "Ada\n"},
        ProviderAccount("ada@example.com", "Ada"),
    ),
    (
        "microsoft",
        "/v1.0/me",
        {"id": "87d3", "displayName": "Ada", "userPrincipalName": "ada@contoso.example"},
        ProviderAccount("87d3", "ada@contoso.example"),
    ),
    (
        "slack",
        "/api/auth.test",
        {"ok": True, "team": "Acme", "user": "aiko", "team_id": "T1", "user_id": "U1"},
        ProviderAccount("T1:U1", "Acme, aiko"),
    ),
    ("vault", "/me", {"sub": "u1", "email": "ada@example.com"}, ProviderAccount("u1", "ada@example.com")),
]


@pytest.mark.parametrize(("name", "path", "body", "linked"), ACCOUNTS)
def test_an_account_is_requested_at_the_provider(
    name: str, path: str, body: Any, linked: ProviderAccount, fake_of: Callable[[str], FakeProvider]
) -> None:
    fake = fake_of(name)
    fake.reply_with(json_response(body))
    assert fake.account() == linked
    assert (fake.asked.method, fake.asked.path) == ("GET", path)
    assert fake.asked.headers["authorization"] == f"Bearer {ACCESS.get_secret_value()}"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_token_that_the_provider_refuses_has_no_account(fake: FakeProvider, status: int) -> None:
    fake.reply_with(json_response({"message": CANARY}, status))
    with pytest.raises(AccessTokenRejected) as raised:
        fake.account()
    assert CANARY not in str(raised.value)


@for_each("body", [None, 7, "words", {"error": CANARY}, {"id": None}, [{}], {"bot": []}])
def test_an_account_that_cannot_be_read_is_an_outage(fake: FakeProvider, body: Any) -> None:
    fake.reply_with(json_response(body))
    with pytest.raises((UpstreamUnavailable, AccessTokenRejected)) as raised:
        fake.account()
    assert CANARY not in str(raised.value)


@pytest.mark.parametrize("name", ["atlassian", "supabase"])
def test_a_token_that_reaches_no_site_has_no_account(name: str, fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of(name)
    fake.reply_with(json_response([]))
    with pytest.raises(AccessTokenRejected):
        fake.account()


def test_an_outage_says_nothing_about_the_token(fake: FakeProvider) -> None:
    for reply, raised in ((Reply(b"", 500), UpstreamUnavailable), (Reply(b"", 429), RateLimitExceeded)):
        fake.reply_with(reply)
        with pytest.raises(raised):
            fake.account()


def test_github_names_an_oauth_app_s_scopes_in_a_header(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("github")
    fake.reply_with(json_response({"id": 1, "login": "octocat"}, x_oauth_scopes="repo, read:user"))
    assert fake.account().scopes == ("repo", "read:user")


KEYS = {"github": f"github_pat_{'A1_' * 10}", "slack": f"xoxp-{'12345-' * 5}0af", "supabase": f"sbp_{'0af' * 13}b"}


@pytest.mark.parametrize("name", NAMES)
def test_only_keys_of_the_provider_s_form_are_accepted(name: str) -> None:
    provider = provider_of(name)
    for owner, key in KEYS.items():
        assert provider.accepts_key(SecretStr(key)) is (owner == name)
        assert not provider.accepts_key(SecretStr(f"{key}\n"))
        assert not provider.accepts_key(SecretStr(f"x{key}"))


def test_a_pasted_key_is_a_person_s_even_where_consents_are_an_organization_s(
    fake_of: Callable[[str], FakeProvider],
) -> None:
    fake = fake_of("supabase")
    fake.reply_with(json_response([{"id": "b", "name": "Beta"}, {"id": "a", "name": "Acme"}]))
    assert fake.account(SecretStr(KEYS["supabase"])) == ProviderAccount("a", "Acme, Beta", "person")


# -- revoking ----------------------------------------------------------------------------------------

REVOKED: dict[str, tuple[str, str, str | None, dict[str, str]]] = {
    "notion": ("POST", "/v1/oauth/revoke", BASIC, {"token": ACCESS.get_secret_value()}),
    "github": ("DELETE", "/applications/ours/token", BASIC, {"access_token": ACCESS.get_secret_value()}),
    "supabase": ("POST", "/v1/oauth/revoke", None, {**SECRET_FIELDS, "refresh_token": REFRESH.get_secret_value()}),
    "google": ("POST", "/revoke", None, {"token": REFRESH.get_secret_value()}),
    "slack": ("POST", "/api/auth.revoke", f"Bearer {ACCESS.get_secret_value()}", {}),
}


@pytest.mark.parametrize("name", REVOKED)
def test_a_pair_is_revoked_as_the_provider_wants_it(name: str, fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of(name)
    method, path, authorization, body = REVOKED[name]
    fake.reply_with(Reply(b"", 204))
    assert fake.revoke() == "revoked"
    assert (fake.asked.method, fake.asked.path) == (method, path)
    assert fake.asked.headers.get("authorization") == authorization
    assert fields(fake.asked) == body


def test_both_tokens_of_a_configured_server_are_revoked(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("vault")
    fake.reply_with(Reply(b"", 200))
    assert fake.revoke() == "revoked"
    assert [fields(received)["token_type_hint"] for received in fake.service.received] == [
        "refresh_token",
        "access_token",
    ]


@pytest.mark.parametrize("name", ["atlassian", "microsoft"])
def test_a_provider_without_revocation_is_reported_as_unsupported(
    name: str, fake_of: Callable[[str], FakeProvider]
) -> None:
    fake = fake_of(name)
    assert fake.revoke() == "unsupported"
    assert not fake.service.received


@pytest.mark.parametrize("name", KEYS)
def test_a_pasted_key_is_never_revoked(name: str, fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of(name)
    assert fake.revoke(Tokens(SecretStr(KEYS[name]))) == "unsupported"
    assert oauth.revoke(fake.provider, None, Tokens(ACCESS)) == "unsupported"
    assert not fake.service.received


@pytest.mark.parametrize("name", [*REVOKED, "vault"])
def test_a_revocation_that_fails_is_reported_and_raises_nothing(
    name: str, fake_of: Callable[[str], FakeProvider]
) -> None:
    fake = fake_of(name)
    for reply in (Reply(b"", 500), Reply(b"", 404), json_response({"error": "invalid_client"}, 401), Reply(b"", 307)):
        fake.reply_with(reply)
        assert fake.revoke() == "failed"
    fake.reply_with(Reply(b"", 200, length=10, waits=True))
    assert oauth.revoke(fake.provider, OUR_APP, Tokens(ACCESS, REFRESH), seconds=0.2) == "failed"


def test_a_token_that_google_no_longer_knows_counts_as_revoked(fake_of: Callable[[str], FakeProvider]) -> None:
    fake = fake_of("google")
    fake.reply_with(json_response({"error": "invalid_token"}, 400))
    assert fake.revoke() == "revoked"
