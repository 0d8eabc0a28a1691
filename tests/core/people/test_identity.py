import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from infra.local.login import LocalLogin
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError, UpstreamUnavailable
from mcpist.people import identity
from mcpist.people.identity import AccessToken, IssuerKeys, verify
from tests.clock import Clock
from tests.core.loopback import Reply, Service, json_response, serving

AUDIENCE = "https://mcp.example.com/mcp"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def issuer() -> Iterator[Service]:
    """Run an issuer with one key."""
    public = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "k1", "alg": "RS256"}
    with serving() as issuer:
        issuer.reply_with(json_response({"jwks_uri": f"{issuer.url}/jwks"}), json_response({"keys": [public]}))
        yield issuer
    identity.issuer_keys.cache_clear()


def token(issuer: Service, *, alg: str = "RS256", key: Any = KEY, header: Any = None, **claims: Any) -> str:
    usual = {"iss": issuer.url, "aud": AUDIENCE, "sub": "uma", "exp": time.time() + 300, "iat": time.time()}
    present = {name: value for name, value in (usual | claims).items() if value is not None}
    # Below JWT, which refuses claims of wrong types.
    return jwt.PyJWS().encode(json.dumps(present).encode(), key, alg, {"kid": "k1", "typ": "at+jwt", **(header or {})})


def check(issuer: Service, jws: str) -> Subject:
    return verify(jws, issuer=issuer.url, audience=AUDIENCE).subject


def refusal(issuer: Service, jws: str) -> str:
    with pytest.raises(AuthenticationError) as refused:
        check(issuer, jws)
    return str(refused.value.details["problem"])


def unsigned(header: Any, claims: Any) -> bytes:
    return b".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims))


def test_tokens_of_the_local_login_are_accepted(login: LocalLogin) -> None:
    token = login.mint("ada", client_id="c-1")
    assert verify(token, issuer=login.issuer, audience=AUDIENCE) == AccessToken(Subject(login.issuer, "ada"), "c-1")


def test_a_valid_token_is_verified_to_its_subject(issuer: Service) -> None:
    assert check(issuer, token(issuer)) == Subject(issuer.url, "uma")
    assert check(issuer, token(issuer, aud=["other", AUDIENCE])) == Subject(issuer.url, "uma")


def test_a_token_is_cached_for_a_minute_but_not_beyond_its_expiry(
    issuer: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(time.time())
    monkeypatch.setattr(identity.verified_tokens, "clock", clock)
    identity.verified_tokens.clear()
    for expires_in, cached in ((30, 30), (300, 60)):
        check(issuer, token(issuer, exp=clock.now + expires_in))
        (key,) = identity.verified_tokens
        clock.advance(cached - 1)
        assert identity.verified_tokens.get(key) == AccessToken(Subject(issuer.url, "uma"), "")
        clock.advance(1)
        assert identity.verified_tokens.get(key) is None


def test_an_issuer_with_a_slash_at_its_end_is_the_same(issuer: Service) -> None:
    assert check(issuer, token(issuer, iss=f"{issuer.url}/")) == Subject(issuer.url, "uma")


def test_a_list_that_has_our_issuer_is_another_issuer(issuer: Service) -> None:
    assert refusal(issuer, token(issuer, iss=[issuer.url])) == "it comes from another issuer"


@pytest.mark.parametrize(
    ("claims", "problem"),
    [
        ({"exp": time.time() - 60}, "it has expired"),
        ({"exp": None}, "it cannot be verified"),
        ({"sub": None}, "it cannot be verified"),
        ({"aud": None}, "it cannot be verified"),
        ({"aud": "https://other.example.com/mcp"}, "it was issued for another audience"),
        ({"aud": f"{AUDIENCE}/acme"}, "it was issued for another audience"),
        ({"iss": "https://other.example.com"}, "it comes from another issuer"),
        ({"iss": None}, "it cannot be verified"),
        ({"nbf": time.time() + 86_400}, "it cannot be verified"),
        ({"exp": 10**400}, "it cannot be verified"),
        ({"nbf": 10**400}, "it cannot be verified"),
        ({"iat": 10**400}, "it cannot be verified"),
        ({"exp": float("inf")}, "it cannot be verified"),
        ({"iss": ["https://login.example.com"]}, "it comes from another issuer"),
        ({"iss": {"a": 1}}, "it comes from another issuer"),
        ({"aud": {"a": 1}}, "it was issued for another audience"),
        ({"aud": 5}, "it was issued for another audience"),
        ({"sub": ["uma"]}, "it cannot be verified"),
    ],
)
def test_a_token_with_wrong_claims_is_refused(issuer: Service, claims: dict[str, Any], problem: str) -> None:
    assert refusal(issuer, token(issuer, **claims)) == problem


@pytest.mark.parametrize(
    "marks",
    [
        {"header": {"typ": "id+jwt"}},
        {"header": {"typ": "ID"}},
        {"header": {"typ": "logout+jwt"}},
        {"token_use": "id"},
        {"typ": "ID"},
        {"nonce": "n"},
        {"at_hash": "h"},
        {"c_hash": "h"},
    ],
)
def test_every_kind_of_id_token_is_refused(issuer: Service, marks: dict[str, Any]) -> None:
    assert "not an access token" in refusal(issuer, token(issuer, **marks))


@pytest.mark.parametrize(
    "marks", [{"header": {"typ": "JWT"}}, {"header": {"typ": None}}, {"token_use": "access"}, {"typ": "Bearer"}]
)
def test_every_kind_of_access_token_is_accepted(issuer: Service, marks: dict[str, Any]) -> None:
    assert check(issuer, token(issuer, **marks)).sub == "uma"


def cognito(issuer: Service, **claims: Any) -> str:
    """Mint a token of Cognito's form: without `typ`, and with our audience only by resource binding."""
    own = {"origin_jti": "o", "event_id": "e", "auth_time": int(time.time()), "jti": "j"}
    return token(issuer, header={"typ": None}, **own, **claims)


def test_an_access_token_of_cognito_is_accepted_if_it_is_bound_to_the_endpoint(issuer: Service) -> None:
    access = {"token_use": "access", "client_id": "app1", "username": "u", "scope": "openid", "version": 2}
    assert check(issuer, cognito(issuer, **access)) == Subject(issuer.url, "uma")
    assert refusal(issuer, cognito(issuer, **access, aud=None)) == "it cannot be verified"
    assert refusal(issuer, cognito(issuer, **access, aud="app1")) == "it was issued for another audience"


def test_an_id_token_of_cognito_is_refused_with_any_audience(issuer: Service) -> None:
    id_token = {"token_use": "id", "cognito:username": "u", "email": "uma@example.com", "email_verified": True}
    assert refusal(issuer, cognito(issuer, **id_token, aud="app1")) == "it was issued for another audience"
    assert "not an access token" in refusal(issuer, cognito(issuer, **id_token))


def test_an_unsigned_token_is_refused(issuer: Service) -> None:
    claims = jwt.decode(token(issuer), options={"verify_signature": False})
    for alg in ("none", "None", "NONE", ""):
        jws = unsigned({"alg": alg, "kid": "k1", "typ": "at+jwt"}, claims) + b"."
        assert refusal(issuer, jws.decode()) == "its signature algorithm is not accepted"


def test_a_token_signed_with_the_public_key_as_a_secret_is_refused(issuer: Service) -> None:
    claims = jwt.decode(token(issuer), options={"verify_signature": False})
    secret = KEY.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for alg in ("HS256", "RS256"):
        text = unsigned({"alg": alg, "kid": "k1", "typ": "at+jwt"}, claims)
        signature = base64.urlsafe_b64encode(hmac.digest(secret, text, hashlib.sha256)).rstrip(b"=")
        refusal(issuer, b".".join((text, signature)).decode())


def test_a_signature_of_another_key_and_a_changed_token_are_refused(issuer: Service) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    assert refusal(issuer, token(issuer, key=other)) == "it cannot be verified"
    head, _, tail = token(issuer).split(".")
    body = base64.urlsafe_b64encode(json.dumps({"sub": "ada"}).encode()).decode().rstrip("=")
    assert refusal(issuer, f"{head}.{body}.{tail}") == "it cannot be verified"


@pytest.mark.parametrize("junk", ["", "a", "a.b.c", "..", "é.é.é", "[" * 9000 + ".b.c", "x" * 9000])
def test_text_that_is_no_token_is_refused(issuer: Service, junk: str) -> None:
    assert refusal(issuer, junk)


def test_a_deeply_nested_header_is_refused(issuer: Service) -> None:
    deep = base64.urlsafe_b64encode(b'{"alg":' + b"[" * 50_000).decode().rstrip("=")
    assert refusal(issuer, f"{deep}.e30.AA") == "it cannot be verified"


def test_fifty_unknown_key_ids_cause_one_fetch(issuer: Service) -> None:
    for number in range(50):
        assert refusal(issuer, token(issuer, header={"kid": f"k{number + 2}"})) == "it is signed with an unknown key"
    assert [request.path for request in issuer.received] == ["/.well-known/openid-configuration", "/jwks"]
    assert check(issuer, token(issuer)).sub == "uma"
    assert len(issuer.received) == 2


def test_a_new_key_is_found_after_a_minute(issuer: Service) -> None:
    clock = Clock()
    keys = IssuerKeys(issuer.url, clock)
    keys.find("k1")
    public = jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "k2"}
    issuer.reply_with(json_response({"jwks_uri": f"{issuer.url}/jwks"}), json_response({"keys": [public]}))
    with pytest.raises(AuthenticationError):
        keys.find("k2")
    clock.advance(identity.MIN_FETCH_INTERVAL_SECONDS + 1)
    assert keys.find("k2").key_id == "k2"


def test_clocks_may_differ_by_half_a_minute_and_no_more(issuer: Service) -> None:
    for claim, direction in (("exp", -1), ("iat", 1), ("nbf", 1)):
        assert check(issuer, token(issuer, **{claim: time.time() + direction * 5})).sub == "uma"
        assert refusal(issuer, token(issuer, **{claim: time.time() + direction * 90}))


def test_an_issuer_that_is_down_is_no_wrong_token_and_is_not_asked_by_every_request(issuer: Service) -> None:
    issuer.reply_with(Reply(b"<html>", 503))
    for _ in range(20):
        with pytest.raises(UpstreamUnavailable):
            check(issuer, token(issuer))
    assert len(issuer.received) == len(identity.METADATA_PATHS)


def test_an_issuer_that_refuses_connections_is_unavailable() -> None:
    with serving() as gone:
        pass
    with pytest.raises(UpstreamUnavailable):
        check(gone, token(gone))
    identity.issuer_keys.cache_clear()


def test_a_document_of_the_issuer_that_is_too_large_is_not_read(
    issuer: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "MAX_DOCUMENT_BYTES", 30)
    with pytest.raises(UpstreamUnavailable):
        check(issuer, token(issuer))
    assert [request.path for request in issuer.received] == ["/.well-known/openid-configuration"]


def test_known_keys_stay_valid_while_the_issuer_is_down(issuer: Service) -> None:
    clock = Clock()
    keys = IssuerKeys(issuer.url, clock)
    keys.find("k1")
    clock.advance(identity.KEYS_CACHE_SECONDS + 1)
    issuer.reply_with(Reply(b"", 500))
    assert keys.find("k1").key_id == "k1"
    assert issuer.received
    clock.advance(identity.FETCH_RETRY_SECONDS + 1)
    with pytest.raises(UpstreamUnavailable):
        keys.find("k2")


def test_a_redirect_to_the_keys_is_followed_but_not_to_another_scheme(issuer: Service) -> None:
    metadata, keys = issuer.replies
    issuer.reply_with(metadata, Reply(b"", 302, {"location": f"{issuer.url}/moved"}), keys)
    assert check(issuer, token(issuer)) == Subject(issuer.url, "uma")
    identity.issuer_keys.cache_clear()
    issuer.reply_with(metadata, Reply(b"", 302, {"location": issuer.url.replace("http:", "https:")}))
    with pytest.raises(UpstreamUnavailable):
        check(issuer, token(issuer))


def test_a_symmetric_key_that_is_published_verifies_no_token(issuer: Service) -> None:
    secret = {"kty": "oct", "k": base64.urlsafe_b64encode(b"s" * 32).decode(), "kid": "k1", "alg": "HS256"}
    issuer.reply_with(json_response({"jwks_uri": f"{issuer.url}/jwks"}), json_response({"keys": [secret]}))
    claims = jwt.decode(token(issuer), options={"verify_signature": False})
    text = unsigned({"alg": "RS256", "kid": "k1", "typ": "at+jwt"}, claims)
    signature = base64.urlsafe_b64encode(hmac.digest(b"s" * 32, text, hashlib.sha256)).rstrip(b"=")
    refusal(issuer, b".".join((text, signature)).decode())
