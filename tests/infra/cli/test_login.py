"""`mcpist login` and `logout`: a whole login at the local issuer, as a browser would do it."""

import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from infra.cli import login_store, oauth_client
from infra.cli.document import CommandError
from infra.cli.login_store import KeptLogin
from infra.cli.loopback import CallbackServer
from infra.cli.rest_client import open_session, origin_of
from infra.cli.stacks import chosen_stack
from infra.local.login import Person
from tests.core.loopback import Service, json_response, serving
from tests.full_issuer import FullIssuer
from tests.infra.cli.conftest import Mcpist

ADA = Person("ada", "Ada", "ada@example.com", "admin")


@pytest.fixture
def issuer() -> Iterator[FullIssuer]:
    with FullIssuer([ADA], audience="http://127.0.0.1:3000/mcp") as made:
        yield made


@pytest.fixture
def endpoint(issuer: FullIssuer) -> Iterator[Service]:
    """An endpoint that names its issuer."""
    metadata = {"resource": "http://127.0.0.1:3000/mcp", "authorization_servers": [issuer.issuer]}
    with serving() as service:
        service.replies = [json_response(metadata)]
        yield service


def choosing(sub: str = "ada", **form: str) -> Callable[[str], None]:
    """Return a browser whose person chooses a user, or refuses."""

    def browse(page: str) -> None:
        def work() -> None:
            with httpx2.Client() as web:
                shown = web.get(page)
                assert shown.status_code == 302, shown.text
                request = parse_qs(urlsplit(shown.headers["location"]).query)["request"][0]
                place = shown.headers["location"].partition("?")[0]
                decided = web.post(place, data={"request": request, "sub": sub, **form})
                web.get(decided.headers["location"])

        threading.Thread(target=work).start()

    return browse


def test_a_person_logs_in_with_a_browser(endpoint: Service, issuer: FullIssuer) -> None:
    login = oauth_client.log_in(endpoint.url, "", 0, choosing())
    assert (login.url, login.resource) == (endpoint.url, "http://127.0.0.1:3000/mcp")
    assert issuer.issuer in login.token_endpoint
    assert login.expires_at is not None
    assert login.expires_at > time.time() + 3_000
    renewed = oauth_client.fresh(login)
    assert renewed == login


def test_a_login_at_a_server_that_calls_itself_another_one_is_refused() -> None:
    with serving() as service:
        resource = {"authorization_servers": [service.url]}
        places = {f"{name}_endpoint": f"{service.url}/{name}" for name in ("authorization", "token")}
        service.reply_with(json_response(resource), json_response(places | {"issuer": "https://login.example.com"}))
        with pytest.raises(CommandError, match="its metadata names another issuer"):
            oauth_client.discover(service.url)
        service.reply_with(json_response(resource), json_response(places | {"issuer": service.url}))
        assert oauth_client.discover(service.url).issuer == service.url


def test_tokens_are_kept_for_their_owner_alone_and_in_no_representation(endpoint: Service, home: Path) -> None:
    login = oauth_client.log_in(endpoint.url, "", 0, choosing())
    login_store.save(login)
    file = home / "mcpist/logins.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert login_store.find() == login_store.find(endpoint.url) == login
    assert login.access_token not in repr(login)
    assert login.refresh_token not in repr(login)
    file.chmod(0o644)
    with pytest.raises(CommandError, match="Others can read"):
        login_store.find()


def test_a_token_that_ends_is_refreshed_once(endpoint: Service) -> None:
    login = replace(oauth_client.log_in(endpoint.url, "", 0, choosing()), expires_at=time.time() + 30)
    login_store.save(login)
    renewed = oauth_client.fresh(login)
    assert renewed.access_token != login.access_token
    assert login_store.find() == renewed
    assert oauth_client.fresh(login) == renewed  # another process sees what is stored, and redeems nothing
    with pytest.raises(CommandError, match="gave no token"):
        oauth_client.fresh(_stored(replace(renewed, refresh_token="used"), renewed), refused=True)


def _stored(login: KeptLogin, before: KeptLogin) -> KeptLogin:
    """Store a login in the place of another one."""
    login_store.remove(before.url)
    login_store.save(login)
    return login


def test_a_logout_revokes_the_tokens_and_forgets_them(endpoint: Service) -> None:
    login = oauth_client.log_in(endpoint.url, "", 0, choosing())
    login_store.save(login)
    assert oauth_client.revoke(login)
    login_store.remove(login.url)
    assert login_store.find() is None
    with pytest.raises(CommandError, match="has ended"):
        oauth_client.fresh(login, refused=True)


def test_a_refused_login_says_so(endpoint: Service) -> None:
    with pytest.raises(CommandError, match="refused: access_denied"):
        oauth_client.log_in(endpoint.url, "", 0, choosing(sub="", deny="yes"))


@pytest.mark.parametrize(
    "metadata",
    [
        {"authorization_servers": ["http://issuer.example.com"]},
        {"authorization_servers": []},
        {},
    ],
)
def test_a_server_that_cannot_be_trusted_is_refused(endpoint: Service, metadata: dict[str, Any]) -> None:
    endpoint.replies = [json_response(metadata)]
    with pytest.raises(CommandError, match="cannot be used"):
        oauth_client.discover(endpoint.url)


@pytest.mark.parametrize(
    "change",
    [
        {"issuer": "https://another.example.com"},
        {"token_endpoint": "http://issuer.example.com/token"},
        {"code_challenge_methods_supported": ["plain"]},
        {"authorization_endpoint": None},
    ],
)
def test_metadata_that_is_wrong_is_refused(endpoint: Service, change: dict[str, Any]) -> None:
    with serving() as server:
        own = {"issuer": server.url, "authorization_endpoint": f"{server.url}/a", "token_endpoint": f"{server.url}/t"}
        server.replies = [json_response(own)]
        endpoint.replies = [json_response({"authorization_servers": [server.url]})]
        assert oauth_client.discover(endpoint.url).token_endpoint == f"{server.url}/t"
        server.replies = [json_response({**own, **change})]
        with pytest.raises(CommandError, match="cannot be used"):
            oauth_client.discover(endpoint.url)


def test_only_the_redirect_with_the_state_is_an_answer() -> None:
    with CallbackServer(0, "s-1") as callback:
        assert httpx2.get(callback.url, params={"code": "stolen", "state": "other"}).status_code == 404
        assert httpx2.get(callback.url, params={"code": "stolen"}).status_code == 404
        assert httpx2.get(callback.url.replace("callback", "else"), params={"state": "s-1"}).status_code == 404
        assert httpx2.get(callback.url, params={"code": "c-1", "state": "s-1"}).status_code == 200
        assert callback.wait(5)["code"] == "c-1"
    with CallbackServer(0, "s-1") as callback, pytest.raises(CommandError, match="Nobody has logged in"):
        callback.wait(0)


def test_a_browsers_idle_connection_does_not_hold_up_the_redirect() -> None:
    with CallbackServer(0, "s-1") as callback, socket.create_connection(callback.server_address):
        assert httpx2.get(callback.url, params={"code": "c-1", "state": "s-1"}).status_code == 200
        assert callback.wait(5)["code"] == "c-1"


def test_an_answer_of_another_server_is_refused(endpoint: Service) -> None:
    def browse(page: str) -> None:
        query = parse_qs(urlsplit(page).query)
        back = {"code": "c-1", "state": query["state"][0], "iss": "https://another.example.com"}
        threading.Thread(target=lambda: httpx2.get(query["redirect_uri"][0], params=back)).start()

    with pytest.raises(CommandError, match="another server"):
        oauth_client.log_in(endpoint.url, "", 0, browse)


def test_commands_act_as_the_person_who_logged_in(mcpist: Mcpist, rest: str, login: FullIssuer) -> None:
    chosen_stack().facts_file.unlink()
    assert mcpist("user", "list", fails=True)["message"] == "No endpoint is known."
    token = login.mint("ada")
    login_store.save(KeptLogin(rest, "", "c", "", "", token, "", None))
    assert mcpist("user", "show", "uma")["name"] == "Uma"
    assert mcpist("user", "show", "uma", "--url", f"{rest}/mcp")["name"] == "Uma"
    assert open_session(f"{rest}/mcp/", None, None).access_token() == token
    error = mcpist("user", "list", "--url", "http://127.0.0.1:1/mcp", fails=True)
    assert (error["code"], error["message"][:40]) == (
        "UPSTREAM_UNAVAILABLE",
        "http://127.0.0.1:1 could not be reached:",
    )
    assert mcpist("logout") == {"url": rest, "revoked": False}
    error = mcpist("user", "list", "--url", f"{rest}/mcp", fails=True)
    assert error["hint"] == f"Run: mcpist login --url {rest}/mcp"
    assert mcpist("logout", fails=True)["message"] == "Nobody is logged in."


def test_an_address_that_is_no_endpoint_is_an_error(mcpist: Mcpist, endpoint: Service, login: FullIssuer) -> None:
    endpoint.replies = [json_response({"hello": "world"}, 404)]
    error = mcpist("user", "list", "--url", endpoint.url, "--token", login.mint("ada"), fails=True)
    assert error["code"] == "UPSTREAM_UNAVAILABLE"
    assert error["message"].endswith(" answered 404.")
    assert "404" not in error["hint"]


@pytest.mark.parametrize("path", ["", "/", "/mcp", "/mcp/", "/mcp/readonly", "/mcp/categories"])
def test_a_deployment_is_named_by_any_of_its_urls(path: str) -> None:
    assert origin_of(f"https://mcp.example.com{path}") == "https://mcp.example.com"
