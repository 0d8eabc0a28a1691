"""The login's metadata, which the endpoint serves if the issuer's own is incomplete."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client.auth.utils import build_oauth_authorization_server_metadata_discovery_urls, validate_metadata_issuer
from mcp.shared.auth import OAuthMetadata

from infra.local.login import LocalLogin
from mcpist.settings import settings
from tests.mcp_endpoint.endpoint_client import PUBLIC_URL, EndpointClient

SCOPE = f"{PUBLIC_URL}/mcp/use"
LOGIN_URL = "https://mcpist-1.auth.eu-west-1.amazoncognito.com"


@pytest.fixture
def own_login(endpoint: EndpointClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[EndpointClient]:
    """A stack with its own user pool."""
    monkeypatch.setenv("LOGIN_URL", LOGIN_URL)
    monkeypatch.setenv("LOGIN_SCOPE", SCOPE)
    monkeypatch.setenv("LOGIN_CLIENT_IDS", "claude,local")
    settings.cache_clear()
    yield endpoint
    monkeypatch.undo()
    settings.cache_clear()


def test_a_client_finds_the_login_and_its_pkce_from_the_resource(own_login: EndpointClient, login: LocalLogin) -> None:
    (server,) = own_login.ask("resource_metadata")[2]["authorization_servers"]
    status, _, answer = own_login.ask("login_metadata")
    first = build_oauth_authorization_server_metadata_discovery_urls(server, server_url=f"{PUBLIC_URL}/mcp")[0]
    assert (status, first) == (200, f"{PUBLIC_URL}/.well-known/oauth-authorization-server")
    found = OAuthMetadata.model_validate(answer)
    validate_metadata_issuer(found, server)
    assert found.code_challenge_methods_supported == ["S256"]
    assert str(found.authorization_endpoint) == f"{LOGIN_URL}/oauth2/authorize"
    assert str(found.token_endpoint) == f"{LOGIN_URL}/oauth2/token"
    assert answer["jwks_uri"] == f"{login.issuer}/.well-known/jwks.json"
    assert found.token_endpoint_auth_methods_supported == ["none"]
    assert answer["scopes_supported"] == ["openid", SCOPE], "and no offline_access"


def test_a_client_is_told_the_scope_in_each_place_where_it_looks(own_login: EndpointClient) -> None:
    assert own_login.ask("resource_metadata")[2]["scopes_supported"] == ["openid", SCOPE]
    status, headers, _ = own_login.ask("no_token")
    assert status == 401
    assert f'scope="openid {SCOPE}"' in headers["www-authenticate"]


def test_a_token_without_an_audience_opens_the_endpoint_only_with_our_client_and_scope(
    own_login: EndpointClient, login: LocalLogin
) -> None:
    ours = {"aud": None, "token_use": "access", "client_id": "local", "scope": f"openid {SCOPE}"}
    others = ({"client_id": "another"}, {"scope": "openid"}, {"token_use": "id"})
    assert own_login.ask("list_tools", token=login.mint("uma", **ours))[0] == 200
    for claims in others:
        assert own_login.ask("list_tools", token=login.mint("uma", **(ours | claims)))[0] == 401


def test_tokens_are_still_the_issuers_own(own_login: EndpointClient) -> None:
    assert own_login.ask("list_tools")[0] == 200


def test_no_metadata_is_served_for_an_issuer_that_serves_its_own(endpoint: EndpointClient, login: LocalLogin) -> None:
    status, _, answer = endpoint.ask("login_metadata")
    assert (status, set(answer)) == (404, {"error"})
    metadata: dict[str, Any] = endpoint.ask("resource_metadata")[2]
    assert metadata["authorization_servers"] == [login.issuer]
