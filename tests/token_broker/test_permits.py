"""Standing permissions, and secrets of webhooks with which the broker alone computes."""

import base64
import hashlib
import hmac
import json
from typing import Any

from mcpist.caller import Subject
from mcpist.people import directory
from tests import members
from tests.token_broker.conftest import Broker

BODY = b'{"action":"opened"}'


def error_of(answer: dict[str, Any]) -> str:
    return str(answer["error"]["type"])


def test_a_permit_resolves_its_services_in_its_roles_until_somebody_ends_it(door: Broker) -> None:
    door.store()
    made = door.ask("permit")["result"]
    proof = {"kind": "permit", "value": made["permit"]}
    assert door.ask("resolve_by_permit", proof=proof)["result"]["account_name"] == "octocat"
    assert error_of(door.ask("resolve_by_permit", proof=proof, service="jira")) == "AuthorizationError"
    assert error_of(door.ask("resolve_by_permit", proof=proof, roles=["admins"])) == "AuthorizationError"
    assert error_of(door.ask("resolve_by_permit", proof=proof, organization="globex")) == "AuthenticationError"
    assert "result" in door.ask("warrant", proof=proof, roles=["engineering"], services=["github"])
    assert error_of(door.ask("warrant", proof=proof, roles=["engineering"], services=["jira"])) == "AuthorizationError"
    (row,) = door.ask("permits")["result"]["permits"]
    assert (row["id"], row["purpose"], row["services"]) == (made["id"], "automation nightly", ["github", "notion"])
    assert made["permit"] not in json.dumps(row)
    assert door.ask("permits", proof=door.jwt("bob"))["result"]["permits"] == []
    assert error_of(door.ask("permits", user="ada", proof=door.jwt("bob"))) == "AuthorizationError"
    other = door.ask("end_permit", permit=made["id"], user="ada", proof=door.jwt("bob"))
    assert error_of(other) == "AuthorizationError"
    assert door.ask("end_permit", permit=made["id"], user="ada", proof=door.jwt("grace"))["result"] == {"ended": True}
    assert error_of(door.ask("resolve_by_permit", proof=proof)) == "AuthenticationError"


def test_a_permit_ends_with_its_persons_access_and_proves_nothing_else(door: Broker) -> None:
    door.store()
    proof = {"kind": "permit", "value": door.ask("permit")["result"]["permit"]}
    for operation in ("permit", "permits", "end_permit", "revoke_personal"):
        assert error_of(door.ask(operation, proof=proof)) == "InvalidRequest"
    warrant = door.ask("warrant")["result"]["warrant"]
    forged = {"kind": "permit", "value": warrant}
    assert error_of(door.ask("resolve_by_permit", proof=forged)) == "AuthenticationError"
    elsewhere = Subject(door.login.issuer, "somebody-else")
    members.put_user("acme", "ada", name="Ada", subject=elsewhere, roles=["engineering", "support"])
    directory.access_cache.clear()
    assert error_of(door.ask("resolve_by_permit", proof=proof)) == "MembershipRequired"


def test_the_broker_computes_with_a_kept_secret_for_its_owner_alone(door: Broker) -> None:
    made = door.ask("keep_secret")["result"]
    sealed, secret = made["sealed"], made["secret"]
    event = {"sealed": sealed, "message": base64.b64encode(BODY).decode()}
    expected = hmac.new(secret.encode(), BODY, hashlib.sha256).hexdigest()
    assert door.ask("mac", **event)["result"] == {"mac": expected}
    assert secret not in sealed
    assert error_of(door.ask("mac", **event, owner="acme.s2")) == "InvalidRequest"
    assert error_of(door.ask("mac", **event, organization="globex")) == "InvalidRequest"
    assert error_of(door.ask("mac", **event | {"sealed": base64.b64encode(b"x" * 90).decode()})) == "InvalidRequest"
    key = b"k" * 24
    given = door.ask("keep_secret", secret=f"whsec_{base64.b64encode(key).decode()}")["result"]
    assert given["secret"] is None
    answer = door.ask("mac", **event | {"sealed": given["sealed"]})["result"]
    assert answer == {"mac": hmac.new(key, BODY, hashlib.sha256).hexdigest()}
