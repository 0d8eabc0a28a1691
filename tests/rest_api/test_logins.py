"""Company logins, by REST."""

import pytest

from infra.local.login import LocalLogin
from mcpist.settings import settings
from tests.conftest import PUBLIC_URL
from tests.rest_api.rest_client import RestClient


def test_a_login_is_set_listed_and_removed_by_administrators(
    rest: RestClient, login: LocalLogin, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada, body = rest.of("ada"), {"issuer": login.issuer, "client_id": "company", "client_secret": "s3cret"}
    assert ada.send("PUT", "/v1/logins/globex.com", body).json["code"] == "NOT_CONFIGURED"
    monkeypatch.setenv("LOGIN_SECRETS", "/mcpist/stack/login")
    settings.cache_clear()
    assert ada.send("PUT", "/v1/logins/globex.com", body).json["details"]["field"] == "client_id"
    redirect = f"{PUBLIC_URL}/login/callback/globex.com"
    login.register("company", redirect_uri=redirect)
    made = {"domain": "globex.com", "issuer": login.issuer, "client_id": "company", "redirect_uri": redirect}
    assert ada.send("PUT", "/v1/logins/globex.com", body).json == made
    listed = ada.get("/v1/logins").json
    assert (listed["logins"], listed["proof_line"]) == ([made], f"{PUBLIC_URL}/mcp/acme")
    assert "s3cret" not in ada.get("/v1/audit").text
    uma = rest.of("uma")
    for method, given in (("PUT", body), ("DELETE", None)):
        assert uma.send(method, "/v1/logins/globex.com", given).json["code"] == "AUTHORIZATION_ERROR"
    assert ada.send("DELETE", "/v1/logins/globex.com").json["logins"] == []
