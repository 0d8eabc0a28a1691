"""The public endpoint's responses to a client without a token, and its certificate."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from socket import create_server
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from infra.cli.doctor import endpoint
from infra.local.login import LocalLogin
from tests.core.loopback import Service, json_response
from tests.infra.cli.doctor.conftest import Made, only, states


def test_metadata_of_this_deployment_is_right_and_of_another_a_problem(
    made: Made, login: LocalLogin, service: Service
) -> None:
    right = {"resource": f"{service.url}/mcp", "authorization_servers": [login.issuer]}
    service.reply_with(json_response(right))
    assert states(endpoint.resource(made(service.url))) == ["ok", "ok"]
    assert [one.path for one in service.received] == [
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
    ]
    service.reply_with(json_response(right), json_response({**right, "resource": "https://other.example/mcp"}))
    fine, wrong = endpoint.resource(made(service.url, embedded=False))
    assert (fine.state, wrong.state) == ("ok", "problem")
    assert "https://other.example/mcp" in wrong.found
    assert "a1b2c3" in wrong.remedy


def test_an_endpoint_without_a_response_is_a_problem(made: Made, service: Service) -> None:
    service.reply_with(json_response({}, status=404))
    assert states(endpoint.resource(made(service.url))) == ["problem", "problem"]
    assert states(endpoint.resource(made("http://127.0.0.1:1"))) == ["problem", "problem"]
    assert states(endpoint.challenge(made("http://127.0.0.1:1"))) == ["problem"]


@pytest.mark.parametrize(
    ("status", "header", "state"),
    [
        (401, "www-authenticate", "ok"),
        (401, "x-amzn-remapped-www-authenticate", "ok"),
        (401, "x-other", "problem"),
        (200, "www-authenticate", "problem"),
        (500, "x-other", "problem"),
    ],
)
def test_a_client_without_a_token_gets_a_challenge(
    made: Made, service: Service, status: int, header: str, state: str
) -> None:
    service.reply_with(json_response({}, status=status, **{header: 'Bearer resource_metadata="there"'}))
    assert only(endpoint.challenge(made(service.url))).state == state
    (asked,) = service.received
    assert (asked.method, asked.path, "authorization" in asked.headers) == ("POST", "/mcp", False)


def test_the_stacks_own_login_describes_itself_and_publishes_its_key(made: Made, service: Service) -> None:
    assert only(endpoint.login_metadata(made(service.url))).state == "skipped"
    own = made(service.url, Issuer="", variables={"LOGIN_KEYS": "arn:key/k1", "ISSUER": "https://pool.example"})
    found = json_response({"issuer": service.url, "jwks_uri": f"{service.url}/login/jwks.json"})
    service.reply_with(found, json_response({"keys": [{"alg": "ES256"}]}))
    assert only(endpoint.login_metadata(own)).state == "ok"
    service.reply_with(found, json_response({"keys": []}))
    assert only(endpoint.login_metadata(own)).state == "problem"
    service.reply_with(json_response({"issuer": "https://pool.example"}))
    assert only(endpoint.login_metadata(own)).state == "problem"


@contextmanager
def secured(folder: Path, days: int) -> Iterator[str]:
    """Serve https with a certificate that ends after some days."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, now = x509.Name([]), datetime.now(UTC)
    built = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    built = built.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=days, hours=1))
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = built.add_extension(here, critical=True).sign(key, SHA256())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "site.pem").write_bytes(private + certificate.public_bytes(Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "site.pem")

    def shake() -> None:
        plain, _ = listener.accept()
        try:
            context.wrap_socket(plain, server_side=True).close()
        except ssl.SSLError:
            plain.close()

    with create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=shake)
        thread.start()
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(("days", "state"), [(90, "ok"), (13, "warning")])
def test_a_certificate_that_ends_soon_is_a_warning(
    made: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, state: str
) -> None:
    with secured(tmp_path, days) as url:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "site.pem"))
        found = only(endpoint.tls(made(url)))
    assert (found.state, f"in {days} days" in found.found) == (state, True)


def test_a_certificate_that_clients_do_not_trust_is_a_problem(made: Made, tmp_path: Path) -> None:
    with secured(tmp_path, 90) as url:
        found = only(endpoint.tls(made(url)))
    assert (found.state, "CERTIFICATE_VERIFY_FAILED" in found.found) == ("problem", True)
    assert only(endpoint.tls(made("https://127.0.0.1:1"))).state == "problem"
    assert only(endpoint.tls(made("http://127.0.0.1:1"))).state == "skipped"
