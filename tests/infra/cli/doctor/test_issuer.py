"""Checks of the issuer: the local login passes, and faults are found."""

import json
from collections.abc import Iterator

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from infra.cli.doctor import issuer
from infra.cli.doctor.command import run_check
from tests.core.loopback import Service, json_response
from tests.full_issuer import FullIssuer
from tests.infra.cli.doctor.conftest import Made, only, states

URL = "http://127.0.0.1:3999"
PUBLIC = jwt.algorithms.RSAAlgorithm.to_jwk(rsa.generate_private_key(65537, 2048).public_key(), as_dict=True)


@pytest.fixture
def own() -> Iterator[FullIssuer]:
    """A login with the client of the pages."""
    with FullIssuer([], audience=f"{URL}/mcp") as login:
        login.register("connect", redirect_uri=f"{URL}/connect/login")
        yield login


def test_the_local_login_passes_all_checks_of_an_issuer(made: Made, own: FullIssuer) -> None:
    stands = made(URL, Issuer=own.issuer)
    for check in (issuer.discovery, issuer.keys, issuer.login, issuer.client):
        assert set(states(check(stands))) == {"ok"}


@pytest.mark.parametrize(("client", "url"), [("unknown", URL), ("connect", "http://127.0.0.1:3998")])
def test_a_client_that_the_login_refuses_is_a_problem(made: Made, own: FullIssuer, client: str, url: str) -> None:
    refused = only(issuer.client(made(url, Issuer=own.issuer, ConnectClientId=client)))
    assert refused.state == "problem"
    assert f"{url}/connect/login" in refused.remedy


def test_a_login_that_redirects_with_an_error_refuses_as_well(made: Made, service: Service) -> None:
    described = {"jwks_uri": "x", "authorization_endpoint": f"{service.url}/authorize?tenant=t"}
    service.reply_with(json_response(described), json_response({}, 302, location="/error?error=redirect_mismatch"))
    refused = only(issuer.client(made(URL, Issuer=service.url)))
    assert (refused.state, "redirect_mismatch" in refused.found) == ("problem", True)
    assert service.received[1].path.startswith("/authorize?tenant=t&response_type=code&client_id=connect&")
    service.reply_with(json_response(described), json_response({}, 503))
    assert only(issuer.client(made(URL, Issuer=service.url))).state == "skipped"


def test_each_wrong_value_of_an_issuer_of_a_domain_is_named(made: Made, own: FullIssuer, service: Service) -> None:
    own.register("ours", redirect_uri=f"{URL}/login/callback/globex.com")
    service.reply_with(json_response({"issuer": "https://login.example.com", "jwks_uri": "x"}))

    def found(**fields: str) -> str:
        finding = only(issuer.domains(made(URL, IssuersByDomain=json.dumps({"globex.com": fields}))))
        assert "IssuersByDomain=" in finding.remedy or finding.state == "ok" or "/login/callback" in finding.remedy
        return f"{finding.state}: {finding.found}"

    accepted = f"ok: the issuer accepts ours with {URL}/login/callback/globex.com"
    assert found(issuer=own.issuer, client_id="ours") == accepted
    assert found(issuer=own.issuer, client_id="other").startswith("problem: the issuer refuses the client other")
    assert found(issuer=service.url, client_id="ours").startswith("problem: globex.com: http")
    assert "cannot be read" in found(issuer="http://127.0.0.1:1", client_id="ours")
    assert "it has issuer and client_id" in found(issuer=own.issuer)
    assert only(issuer.domains(made(URL))).state == "ok"


def test_an_issuer_of_another_name_is_a_problem_with_the_right_one(made: Made, service: Service) -> None:
    service.reply_with(json_response({"issuer": "https://login.example.com", "jwks_uri": "x"}))
    wrong = only(issuer.discovery(made(Issuer=service.url)))
    assert wrong.state == "problem"
    assert "Issuer=https://login.example.com" in wrong.remedy


def test_an_unreachable_issuer_is_one_problem(made: Made) -> None:
    stands = made(Issuer="http://127.0.0.1:1")
    assert only(issuer.discovery(stands)).state == "problem"
    for check in (issuer.keys, issuer.login, issuer.client):
        assert only(run_check(lambda check=check: check(stands))).state == "skipped"
    assert only(issuer.discovery(made(Issuer=""))).state == "problem"


@pytest.mark.parametrize(
    ("keys", "state"),
    [
        ([{**PUBLIC, "kid": "k1"}], "ok"),
        ([PUBLIC], "problem"),
        ([{"kty": "oct", "k": "c2VjcmV0", "alg": "HS256", "kid": "k1"}], "problem"),
        ([], "problem"),
    ],
)
def test_only_public_keys_with_an_id_are_usable(
    made: Made, service: Service, keys: list[dict[str, str]], state: str
) -> None:
    service.reply_with(json_response({"jwks_uri": f"{service.url}/jwks"}), json_response({"keys": keys}))
    assert only(issuer.keys(made(Issuer=service.url))).state == state


def test_missing_pkce_is_a_problem_and_missing_registration_a_warning(made: Made, service: Service) -> None:
    bare = {"issuer": service.url, "jwks_uri": "x"}
    service.reply_with(json_response(bare))
    assert states(issuer.login(made(Issuer=service.url))) == ["problem", "warning"]
    service.reply_with(json_response({**bare, "code_challenge_methods_supported": ["plain", "S256"]}))
    assert states(issuer.login(made(Issuer=service.url))) == ["ok", "warning"]


def test_the_doctor_says_how_clients_get_their_ids(made: Made, service: Service) -> None:
    offers = {
        "client_id_metadata_document_supported": (True, "clients need no registration"),
        "registration_endpoint": (f"{service.url}/register", "clients register themselves"),
    }
    for name, (value, told) in offers.items():
        service.reply_with(json_response({"issuer": service.url, "jwks_uri": "x", name: value}))
        *_, ids = issuer.login(made(Issuer=service.url))
        assert (ids.state, ids.found.startswith(told)) == ("ok", True)


def test_clients_of_the_stacks_own_login_use_its_metadata(made: Made, service: Service) -> None:
    variables = {"LOGIN_KEYS": "arn:key/k1", "ISSUER": "http://127.0.0.1:1"}
    described = {"code_challenge_methods_supported": ["S256"], "jwks_uri": f"{service.url}/keys"}
    service.reply_with(json_response({**described, "registration_endpoint": f"{service.url}/register"}))
    assert states(issuer.login(made(service.url, Issuer="", variables=variables))) == ["ok", "ok"]
    assert [one.path for one in service.received] == ["/.well-known/openid-configuration"]
