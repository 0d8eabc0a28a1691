"""Programs without a person: how they log in, what they get, and what nobody else gets by them."""

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.local.login import LocalLogin
from mcpist import settings
from mcpist.aws.table import directory_table
from mcpist.caller import Subject
from mcpist.errors import AuthenticationError, InvalidRequest, McpistError, MembershipRequired
from mcpist.memory import forget_entries
from mcpist.people import client_logins, directory, edits, service_credentials, services
from mcpist.people.administration import Administration
from tests.conftest import AUDIENCE, PUBLIC_URL
from tests.core.loopback import Service, json_response, serving
from tests.core.people.conftest import FakeAccounts
from tests.login.conftest import Program, register, verified
from tests.login.signers import Signer, by_hand

type Door = Callable[..., dict[str, Any]]


@pytest.fixture
def administration(door: Door, login: LocalLogin) -> Administration:
    assert door
    return Administration(directory.identify(Subject(login.issuer, "ada")), "r-1", FakeAccounts())


@pytest.fixture
def signer() -> Signer:
    return Signer()


@pytest.fixture
def robot(door: Door, administration: Administration, signer: Signer) -> Program:
    """A service user with a key."""
    return Program(door, make(administration, public_key=signer.pem).client_id)


def make(administration: Administration, user: str = "robot", **keys: str) -> services.MadeCredentials:
    named = {"name": "Robot", "roles": ("members",), "public_key": "", "jwks_url": "", **keys}
    return services.create(administration, user, **named)  # type: ignore[arg-type]


def ask(program: Program, proof: dict[str, str], **form: str) -> dict[str, Any]:
    return program.ask(**{"grant_type": "client_credentials", **proof, **form})


def test_a_program_gets_a_token_by_its_key(door: Door, robot: Program, signer: Signer) -> None:
    tokens = ask(robot, signer.prove(robot.client_id), resource=f"{AUDIENCE}/acme")
    assert (tokens["status"], tokens["expires_in"]) == (200, 600)
    assert "refresh_token" not in tokens
    known = verified(tokens)
    assert (known.subject, known.client_id) == (Subject(PUBLIC_URL, robot.client_id), robot.client_id)
    caller = directory.identify(known.subject, within=known.organizations)
    assert (caller.user, caller.role_names, caller.system_role) == ("robot", ("members",), "user")
    for audience in (f"{PUBLIC_URL}/login/token", [f"{PUBLIC_URL}/login/token"], [PUBLIC_URL]):
        assert ask(robot, signer.prove(robot.client_id, aud=audience))["status"] == 200, audience
    metadata = json.loads(door("GET", "/.well-known/oauth-authorization-server")["body"])
    assert "client_credentials" in metadata["grant_types_supported"]
    assert "private_key_jwt" in metadata["token_endpoint_auth_methods_supported"]
    assert metadata["token_endpoint_auth_signing_alg_values_supported"] == ["ES256", "RS256"]


def test_a_secret_is_shown_once_and_stored_as_its_hash(door: Door, administration: Administration) -> None:
    made = make(administration)
    robot, basic = Program(door, made.client_id), base64.b64encode(f"{made.client_id}:{made.secret}".encode()).decode()
    form = {"grant_type": "client_credentials"}
    assert door("POST", "/login/token", form=form, authorization=f"Basic {basic}")["statusCode"] == 200
    assert verified(ask(robot, {"client_secret": made.secret}))
    assert ask(robot, {"client_secret": "guessed"})["error"] == "invalid_client"
    assert ask(robot, {})["error"] == "invalid_client"
    assert made.secret not in repr(made)
    stored = directory_table().query(directory.subject_key(service_credentials.subject_of(made.client_id)))
    assert made.secret not in repr(stored)


# -- what is no proof ----------------------------------------------------------------------------------

NOW = int(time.time())
WRONG = {
    "another audience": {"aud": "https://evil.example"},
    "several audiences": {"aud": [PUBLIC_URL, "https://evil.example"]},
    "the endpoint as audience": {"aud": AUDIENCE},
    "no audience": {"aud": None},
    "another issuer": {"iss": "service-other"},
    "expired": {"exp": NOW - 3_600},
    "for too long": {"exp": NOW + 86_400},
    "for ever": {"exp": None},
    "older than a day": {"iat": NOW - 86_400},
    "of the future": {"nbf": NOW + 3_600},
    "odd time": {"exp": "soon"},
    "no jti": {"jti": None},
    "empty jti": {"jti": ""},
    "long jti": {"jti": "j" * 5_000},
    "no subject": {"sub": None},
    "odd subject": {"sub": ["robot"]},
}


def test_what_a_key_signs_for_something_else_is_no_proof(robot: Program, signer: Signer) -> None:
    taken = [
        name for name, changes in WRONG.items() if "error" not in ask(robot, signer.prove(robot.client_id, **changes))
    ]
    assert taken == []
    assert ask(robot, signer.prove(robot.client_id) | {"client_assertion": "a.b.c"})["error"] == "invalid_client"
    deep = {"client_assertion": by_hand({"alg": "ES256"}, {"sub": robot.client_id}).replace("{", "[" * 9_000)}
    assert "error" in ask(robot, signer.prove(robot.client_id) | deep)
    assert ask(robot, signer.prove(robot.client_id), padding="x" * 50_000)["status"] >= 400


def test_a_proof_counts_once(robot: Program, signer: Signer) -> None:
    proof = signer.prove(robot.client_id)
    assert ask(robot, proof)["status"] == 200
    assert ask(robot, proof)["error"] == "invalid_client"
    other = signer.prove(robot.client_id, jti="mine")
    assert [ask(robot, other)["status"], ask(robot, signer.prove(robot.client_id, jti="mine"))["status"]] == [200, 400]


def test_a_proof_is_signed_by_the_registered_key_in_an_allowed_way(robot: Program, signer: Signer) -> None:
    claims = {
        "iss": robot.client_id,
        "sub": robot.client_id,
        "aud": PUBLIC_URL,
        "exp": int(time.time()) + 60,
        "jti": "1",
    }
    content = by_hand({"alg": "HS256", "typ": "JWT"}, claims).rstrip(".")
    mac = hmac.digest(signer.pem.encode(), content.encode(), "sha256")
    forged = {
        "none": by_hand({"alg": "none", "typ": "JWT"}, claims),
        "the public key as a secret": f"{content}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}",
        "another key": Signer().sign(claims),
        "a key of its own": Signer().sign(claims, jwk=Signer().jwks["keys"][0]),
        "another key's id": Signer(key_id="k2").sign(claims),
        "an ID-JAG": signer.sign(claims, "oauth-id-jag+jwt"),
        "an access token": signer.sign(claims, "at+jwt"),
    }
    usual = signer.prove(robot.client_id)
    taken = [name for name, proof in forged.items() if "error" not in ask(robot, usual | {"client_assertion": proof})]
    assert taken == []


def test_a_proof_is_for_its_own_client(
    door: Door, administration: Administration, robot: Program, signer: Signer
) -> None:
    other, thief = Signer(), Program(door, register(door)["client_id"])
    another = Program(door, make(administration, "other", public_key=other.pem).client_id)
    assert ask(another, signer.prove(robot.client_id))["error"] == "invalid_client"
    assert ask(another, signer.prove(another.client_id))["error"] == "invalid_client"
    assert ask(robot, signer.prove(robot.client_id, sub=another.client_id))["error"] == "invalid_client"
    assert (
        ask(Program(door, "service-" + "x" * 3_000), signer.prove("service-" + "x" * 3_000))["error"]
        == "invalid_client"
    )
    # A client of people has no token of its own, and a service user none of people.
    assert ask(thief, {})["error"] == "invalid_client"
    confidential = register(door, token_endpoint_auth_method="client_secret_post")
    stranger = Program(door, confidential["client_id"])
    assert ask(stranger, {"client_secret": confidential["client_secret"]})["error"] == "unauthorized_client"
    assert robot.redeem("code", **signer.prove(robot.client_id))["error"] in {"unauthorized_client", "invalid_grant"}
    assert door("GET", robot.page())["statusCode"] == 400


# -- keys at an address --------------------------------------------------------------------------------


@pytest.fixture
def home(door: Door) -> Iterator[Service]:
    """Where a program publishes its keys."""
    assert door
    with serving() as service:
        yield service


def test_keys_at_an_address_are_read_and_their_kinds_checked(
    door: Door, administration: Administration, home: Service, signer: Signer
) -> None:
    robot = Program(door, make(administration, jwks_url=f"{home.url}/jwks.json").client_id)
    secret = base64.urlsafe_b64encode(b"s" * 32).decode().rstrip("=")
    symmetric = {"kty": "oct", "k": secret, "kid": "s1"}
    home.replies = [json_response({"keys": [*signer.jwks["keys"], symmetric]})]
    assert verified(ask(robot, signer.prove(robot.client_id)))
    claims = {
        "iss": robot.client_id,
        "sub": robot.client_id,
        "aud": PUBLIC_URL,
        "exp": int(time.time()) + 60,
        "jti": "1",
    }
    for algorithm in ("ES256", "HS256"):
        content = by_hand({"alg": algorithm, "typ": "JWT", "kid": "s1"}, claims).rstrip(".")
        mac = base64.urlsafe_b64encode(hmac.digest(b"s" * 32, content.encode(), "sha256")).decode().rstrip("=")
        forged = signer.prove(robot.client_id) | {"client_assertion": f"{content}.{mac}"}
        assert ask(robot, forged)["error"] == "invalid_client"
    assert len(home.received) == 1


@pytest.mark.parametrize("place", ["directly", "by a redirect"])
def test_an_address_of_keys_that_points_inside_is_not_read(
    door: Door,
    administration: Administration,
    home: Service,
    signer: Signer,
    monkeypatch: pytest.MonkeyPatch,
    place: str,
) -> None:
    robot = Program(door, make(administration, jwks_url=f"{home.url}/jwks.json").client_id)
    home.replies = [json_response(signer.jwks)]
    if place == "directly":
        monkeypatch.setenv("LOCAL_SERVICES", "off")
        monkeypatch.setenv("ISSUER", "https://login.example.com")  # one on loopback lets requests go there
        settings.settings.cache_clear()
    else:
        home.replies = [json_response({}, 302, location="http://169.254.169.254/latest/meta-data")]
    assert ask(robot, signer.prove(robot.client_id))["error"] == "temporarily_unavailable"
    assert len(home.received) == (0 if place == "directly" else 1)


def test_an_address_that_answers_without_end_is_given_up(
    door: Door, administration: Administration, home: Service, signer: Signer
) -> None:
    robot = Program(door, make(administration, jwks_url=f"{home.url}/jwks.json").client_id)
    home.replies = [json_response({**signer.jwks, "more": "x" * 2_000_000})]
    assert ask(robot, signer.prove(robot.client_id))["error"] == "temporarily_unavailable"


# -- administration ------------------------------------------------------------------------------------


def test_new_credentials_end_the_former_ones_and_their_tokens(
    administration: Administration, robot: Program, signer: Signer
) -> None:
    tokens = ask(robot, signer.prove(robot.client_id))
    secret = services.replace_credentials(administration, "robot", public_key="", jwks_url="").secret
    with pytest.raises(AuthenticationError):
        verified(tokens)
    assert ask(robot, signer.prove(robot.client_id))["error"] == "invalid_client"
    assert verified(ask(robot, {"client_secret": secret}))
    assert directory.ACCESS_CACHE_SECONDS <= 5


def test_a_service_user_that_is_removed_is_refused_everywhere(
    administration: Administration, robot: Program, signer: Signer
) -> None:
    token = verified(ask(robot, signer.prove(robot.client_id)))
    administration.change("users.delete", "users.robot", edits.remove_user("robot"))
    forget_entries()
    with pytest.raises(MembershipRequired):
        directory.identify(token.subject, within=token.organizations)
    assert ask(robot, signer.prove(robot.client_id))["error"] == "invalid_client"


def test_a_service_user_administers_nothing_and_is_made_by_administrators(
    administration: Administration, robot: Program, login: LocalLogin
) -> None:
    assert robot
    with pytest.raises(InvalidRequest, match="does not administer"):
        administration.change("users.update", "users.robot", edits.change_user("robot", system_role="admin"))
    uma = Administration(directory.identify(Subject(login.issuer, "uma")), "r-2", FakeAccounts())
    for refused in (
        lambda: make(uma, "mine"),
        lambda: services.replace_credentials(uma, "robot", public_key="", jwks_url=""),
    ):
        with pytest.raises(McpistError) as error:
            refused()
        assert error.value.code == "AUTHORIZATION_ERROR"
    with pytest.raises(McpistError, match="uma"):
        services.replace_credentials(administration, "uma", public_key="", jwks_url="")
    # People who are added without an issuer still have the one that all people share.
    administration.change("users.create", "users.eve", edits.add_user("eve", sub="eve", name="Eve"))
    assert directory.read("acme").users["eve"].subject.issuer == login.issuer


def test_another_organization_cannot_take_a_service_user_in(
    administration: Administration, robot: Program, signer: Signer
) -> None:
    edit = edits.add_user("stolen", sub=robot.client_id, issuer=PUBLIC_URL, name="Stolen", kind="service")
    administration.change("users.delete", "users.robot", edits.remove_user("robot"))
    administration.change("users.create", "users.stolen", edit)
    forget_entries()
    # Nobody has accepted for it, and nobody can.
    assert ask(robot, signer.prove(robot.client_id))["error"] == "invalid_client"


def test_only_public_keys_of_allowed_kinds_are_registered() -> None:
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    signer = Signer()
    private = signer.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    weak = Signer(rsa.generate_private_key(65_537, 1024))  # noqa: S505 - which is refused
    other = Signer(ec.generate_private_key(ec.SECP384R1()))
    refused = [private, weak.pem, other.pem, "", "{", "[1]", '{"kty": "oct", "k": "c2VjcmV0"}', '{"kty": "EC"}']
    for text in refused:
        with pytest.raises(InvalidRequest, match="no public key"):
            services.read_public_key(text)
    assert services.read_public_key(signer.pem)["kty"] == "EC"
    assert services.read_public_key(json.dumps(signer.jwks["keys"][0]))["kid"] == "k1"


def test_a_service_user_has_no_place_among_the_programs_of_people(robot: Program, signer: Signer) -> None:
    assert ask(robot, signer.prove(robot.client_id))
    assert client_logins.find(Subject(PUBLIC_URL, robot.client_id)) == []
