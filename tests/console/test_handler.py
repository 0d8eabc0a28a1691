"""The pages' handler: what a browser shows, and which attacks fail."""

import base64
import logging
import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from console.routes import PAGES, PUBLIC
from mcpist.caller import Role, Subject
from mcpist.people import directory
from mcpist_services import NAMES, services_with_accounts
from tests import members
from tests.conftest import PUBLIC_URL
from tests.console.conftest import EVENTS, Browser, Form, put_app
from tests.console.conftest import GITHUB_KEY as KEY
from tests.core.loopback import Service


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("overview", 200),
        ("service", 200),
        ("page", 200),
        ("asset", 404),  # its address has no hash
        ("callback", 400),  # nobody began it
        ("login", 400),
        ("begin", 400),  # their forms have no token
        ("paste", 400),
        ("disconnect", 400),
        ("confirm", 400),
        ("sign_out", 400),
    ],
)
def test_each_event_is_answered_with_a_page_whose_policy_allows_no_additions(
    ada: Browser, service: Service, name: str, status: int
) -> None:
    put_app()
    answer = ada.send(name)
    assert answer["statusCode"] == status, answer["body"]
    headers = answer["headers"]
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "same-origin")
    policy = headers["content-security-policy"]
    for rule in ("default-src 'none'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"):
        assert rule in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    for tag in re.findall("<(?:script|style)[^>]*>", answer["body"]):
        assert re.fullmatch(r'<script src="/assets/\w+\.[0-9a-f]{12}\.js" defer>', tag)
    assert not re.search(r"\s(on\w+|style)=", answer["body"])
    assert service.received == []


def test_every_route_of_the_door_has_an_event() -> None:
    keys = {re.search(r'"routeKey": "(.*)"', path.read_text("utf-8"))[1] for path in EVENTS.glob("console_*.json")}  # type: ignore[index]
    routes = {route for route in (*PAGES, *PUBLIC) if route.count("/") > 1 or route.endswith("/connect")}
    assert keys == routes | {"ANY /", "ANY /{page}"}


# -- pages --------------------------------------------------------------------------------------------


def test_the_overview_shows_the_services_of_the_persons_roles(uma: Browser) -> None:
    page = uma.get("/connect")["body"]
    assert len(re.findall('<span class="badge', page)) == len(services_with_accounts())
    assert "Google Calendar" in page
    members.put_role("acme", Role("members", modules=("jira", "rag")))
    directory.access_cache.clear()
    assert re.findall(r'<li><a href="(/connect/.*?)"', uma.get("/connect")["body"]) == ["/connect/jira"]


def test_a_service_that_is_not_set_up_offers_no_button(uma: Browser) -> None:
    page = uma.get("/connect/notion")["body"]
    assert "is not set up here yet" in page
    assert 'name="action"' not in page
    assert "<details open>" in uma.get("/connect/supabase")["body"], "but a key can be pasted"


def test_only_an_administrator_can_choose_a_role(uma: Browser) -> None:
    put_app()
    assert 'name="whom"' not in uma.get("/connect/github")["body"]
    ada = Browser(uma.login)
    page = ada.log_in("ada", "/connect/github?organization=acme&user=ada&role=members")["body"]
    assert '<option value="members" selected>members</option>' in page
    assert '<input type="radio" name="whom" value="role" checked>' in page


def test_a_link_for_another_person_connects_nothing(uma: Browser, messages: list[dict[str, Any]]) -> None:
    answer = uma.get("/connect/github?organization=acme&user=ada")
    assert answer["statusCode"] == 403
    assert "It is for ada, and you are logged in as uma." in answer["body"]
    assert "<form" not in answer["body"]
    assert messages == []


def test_names_are_text_and_never_markup(uma: Browser) -> None:
    evil = '"><b onclick=x>'
    members.put_role("acme", Role(evil, modules=NAMES))
    members.put_user("acme", "uma", name="Uma", subject=Subject(uma.login.issuer, "uma"), roles=["members", evil])
    directory.access_cache.clear()
    put_app()
    for path in ("/profile", "/connect/github", f"/connect/{evil}", f"/connect/github?organization=acme&user={evil}"):
        page = uma.get(path)["body"]
        assert evil not in page
        assert "onclick" in page


def test_the_pages_are_in_japanese_if_the_browser_asks_for_it(uma: Browser) -> None:
    uma.language = "ja,en-US;q=0.7"
    put_app()
    page = uma.get("/connect/github")["body"]
    assert '<html lang="ja">' in page
    assert "GitHub で接続" in page


# -- connecting ---------------------------------------------------------------------------------------


def test_the_button_leads_to_the_provider_without_session_data(uma: Browser) -> None:
    put_app()
    form = Form(uma.get("/connect/github")["body"], having="begin")
    page = uma.post(form.action, form.fields)["body"]
    place = re.search(r'content="0;url=(.*?)"', page)
    assert place
    url = place[1].replace("&amp;", "&")
    assert url.startswith("https://github.com/login/oauth/authorize?")
    asked = parse_qs(urlsplit(url).query)
    assert asked["redirect_uri"] == [f"{PUBLIC_URL}/connect/callback/github"]
    assert f'<a class="button wide" href="{place[1]}">' in page


def test_a_person_who_declined_at_the_provider_is_told_at_an_address_without_its_code(uma: Browser) -> None:
    put_app()
    form = Form(uma.get("/connect/github")["body"], having="begin")
    page = uma.post(form.action, form.fields)["body"]
    state = re.search(r"state=([\w-]+)", page)
    assert state
    back = uma.get(f"/connect/callback/github?state={state[1]}&error=access_denied")
    assert back["headers"]["location"] == f"{PUBLIC_URL}/connect/github?done=declined"
    assert "Nothing was connected" in uma.get("/connect/github?done=declined")["body"]


def test_a_key_is_pasted_shown_as_connected_and_disconnected(uma: Browser, service: Service) -> None:
    form = Form(uma.get("/connect/github")["body"], having="paste")
    fields = [(name, KEY if name == "key" else value) for name, value in form.fields]
    assert uma.post(form.action, fields)["headers"]["location"] == f"{PUBLIC_URL}/connect/github?done=connected"
    page = uma.get("/connect/github?done=connected")["body"]
    assert "Connected as octocat" in page
    assert KEY not in page
    assert "Connected as octocat" in uma.get("/connect")["body"]
    form = Form(page, having="disconnect")
    assert uma.post(form.action, form.fields)["headers"]["location"] == f"{PUBLIC_URL}/connect/github?done=disconnected"
    assert "Connected as octocat" not in uma.get("/connect/github")["body"]
    assert len(service.received) == 1


def test_a_second_account_is_connected_chosen_and_disconnected_on_its_own(uma: Browser, service: Service) -> None:
    for label in ("", "work"):
        uma.submit("/connect/github", having="paste", key=KEY, account=label)
    page = uma.get("/connect/github")["body"]
    assert "Label: main · acts unless a call names another" in page
    assert "Label: work</li>" in page
    assert uma.submit("/connect/github", having="default")["headers"]["location"].endswith("done=default_chosen")
    assert "Label: work · acts unless a call names another" in uma.get("/connect/github")["body"]
    uma.submit("/connect/github", having="disconnect")  # the first card's
    page = uma.get("/connect/github?account=work")["body"]
    assert page.count("Connected as octocat") == 1
    assert "Label: work" in page
    assert 'value="work" maxlength="32"' in page
    assert len(service.received) == 2


def test_a_key_of_another_kind_is_refused_with_its_form_and_the_form_stays(uma: Browser, service: Service) -> None:
    answer = uma.submit("/connect/github", having="paste", key="ghp_classic00000000000000000000000000000")
    assert answer["statusCode"] == 400
    assert "GitHub does not accept this key. Nothing was stored." in answer["body"]
    assert "github_pat_…" in uma.get("/connect/github")["body"]
    assert Form(answer["body"], having="paste").action == "/connect/github"
    assert "ghp_classic" not in answer["body"]
    assert service.received == []


def test_an_unknown_service_has_no_page(uma: Browser) -> None:
    answer = uma.get("/connect/no-such-service")
    assert (answer["statusCode"], "There is no such page" in answer["body"]) == (404, True)


def test_a_service_that_nobody_set_up_is_marked_in_the_list(uma: Browser) -> None:
    put_app("notion")
    rows = dict(
        re.findall(r'<a href="/connect/(\w+)">.*?<span class="badge .*?">(.*?)</span>', uma.get("/connect")["body"])
    )
    assert (rows["notion"], rows["jira"], rows["github"]) == (
        "Not connected",
        "Not set up by the operator",
        "Not connected",
    )


def test_a_persons_key_for_a_role_needs_a_confirmation(ada: Browser, service: Service) -> None:
    form = [("action", "paste"), ("key", KEY)]
    form += [("whom", "role"), ("role", "members")]
    for answer, done in (("no", "kept"), ("yes", "connected")):
        asked = ada.post("/connect/github", form)
        assert asked["statusCode"] == 200
        assert "Everybody with the role members would act as this person." in asked["body"]
        question = Form(asked["body"], having=answer)
        assert question.action == "/connect/confirm"
        decided = ada.post(question.action, question.fields)
        assert decided["headers"]["location"] == f"{PUBLIC_URL}/connect/github?done={done}"
    assert "Account of the role members" in ada.get("/connect/github")["body"]
    assert len(service.received) == 2


def test_choosing_all_roles_includes_later_ones(uma: Browser, messages: list[dict[str, Any]]) -> None:
    put_app()
    members.put_role("acme", Role("support", modules=NAMES))
    members.put_user("acme", "uma", name="Uma", subject=Subject(uma.login.issuer, "uma"), roles=["members", "support"])
    directory.access_cache.clear()
    form = Form(uma.get("/connect/github")["body"], having="begin")
    assert [value for name, value in form.fields if name == "open_to"] == ["members", "support"]
    uma.post(form.action, form.fields)
    assert "open_to" not in messages[-1]
    one = [pair for pair in form.fields if pair != ("open_to", "support")]
    uma.post(form.action, one)
    assert messages[-1]["open_to"] == ["members"]
    none = [pair for pair in form.fields if pair[0] != "open_to"]
    assert "choose at least one role" in uma.post(form.action, none)["body"]


# -- attacks ------------------------------------------------------------------------------------------

DISCONNECT = [("action", "disconnect"), ("role", "")]


@pytest.mark.parametrize("origin", ["https://attacker.example.com", "null", ""])
def test_a_form_of_another_site_does_nothing(uma: Browser, messages: list[dict[str, Any]], origin: str) -> None:
    answer = uma.post("/connect/github", DISCONNECT, origin=origin)
    assert answer["statusCode"] == 400
    assert uma.post("/connect/confirm", [("agreed", "yes")], origin=origin)["statusCode"] == 400
    assert changes(messages) == []


@pytest.mark.parametrize("token", ["", "x", "AAAA", base64.urlsafe_b64encode(bytes(32)).decode()])
def test_a_form_without_a_token_of_this_session_does_nothing(
    uma: Browser, messages: list[dict[str, Any]], token: str
) -> None:
    answer = uma.post("/connect/github", [("csrf", token), *DISCONNECT])
    assert (answer["statusCode"], "was not sent by a page" in answer["body"]) == (400, True)
    assert uma.post("/profile", [("csrf", token), ("action", "sign_out_everywhere")])["statusCode"] == 400
    assert changes(messages) == []
    assert uma.get("/profile")["statusCode"] == 200


def test_a_token_differs_on_every_page_and_holds_for_the_session(uma: Browser) -> None:
    first, second = uma.token(), uma.token()
    assert first != second
    for token in (first, second):
        assert uma.post("/connect/github", [("csrf", token), *DISCONNECT])["statusCode"] == 303


def test_a_form_made_for_another_person_does_nothing(uma: Browser, messages: list[dict[str, Any]]) -> None:
    """Ada's page is still open when Uma logs in."""
    ada = Browser(uma.login)
    ada.log_in("ada")
    answer = uma.post("/connect/github", [("csrf", ada.token()), *DISCONNECT])
    assert answer["statusCode"] == 400
    assert 'href="/connect/github"' in answer["body"]
    assert changes(messages) == []


def test_a_forged_session_leads_to_the_login(browser: Browser) -> None:
    browser.cookies["__Host-mcpist-session"] = "organization=acme&user=ada&session=Zm9yZ2Vk"
    assert browser.get("/connect/github")["statusCode"] == 303
    assert browser.post("/connect/github", DISCONNECT)["statusCode"] == 401
    assert browser.get("/connect/callback/github?state=x&code=y")["statusCode"] == 401


def test_a_session_cookie_that_claims_another_user_acts_as_its_own_user(uma: Browser) -> None:
    name = "__Host-mcpist-session"
    uma.cookies[name] = uma.cookies[name].replace("user=uma", "user=ada")
    assert "<b>uma</b>" in uma.get("/connect")["body"]


READING = {"session", "offer", "login", "list"}


def changes(messages: list[dict[str, Any]]) -> list[str]:
    """Return the operations that were requested, but for those that only read."""
    return [message["operation"] for message in messages if message["operation"] not in READING]


@pytest.mark.parametrize(
    "form",
    [
        [("action", "dump")],
        [("action", "begin"), ("action", "paste")],
        [("action", "begin")],
        [("action", "begin"), ("services", "git#hub")],
        [("action", "begin"), ("services", "github"), ("whom", "role"), ("role", "")],
    ],
    ids=str,
)
def test_an_invalid_form_is_answered_with_a_page_that_names_the_field(
    uma: Browser, form: list[tuple[str, str]]
) -> None:
    answer = uma.post("/connect/github", form)
    assert answer["statusCode"] == 400
    assert 'action="/connect/github"' in answer["body"]


@pytest.mark.parametrize("body", ["%%%", base64.b64encode(b"\xff").decode(), "A" * 65_000])
def test_a_body_that_is_not_a_form_is_refused(uma: Browser, body: str) -> None:
    assert uma.send("begin", body=body)["statusCode"] in {400, 401, 413}


def test_a_defect_is_a_page_with_the_request_id(uma: Browser) -> None:
    answer = uma.send("service", query="", pathParameters={})
    assert answer["statusCode"] == 500
    assert "request-1" in answer["body"]


# -- secrets ------------------------------------------------------------------------------------------


def test_no_code_state_session_or_key_is_logged(
    uma: Browser, service: Service, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    uma.post("/connect/github", [("action", "paste"), ("key", KEY)])
    uma.get("/connect/callback/github?state=state-canary&code=code-canary")
    uma.get("/connect/login?state=state-canary&code=code-canary")
    session = uma.cookies["__Host-mcpist-session"].partition("session=")[2]
    captured, logged = capfd.readouterr(), "".join(str(vars(record)) for record in caplog.records)
    written = captured.out + captured.err + logged
    assert "GET /connect/callback/{provider}" in captured.out
    assert not [secret for secret in (KEY, "state-canary", "code-canary", session) if secret in written]
    assert len(service.received) == 1
