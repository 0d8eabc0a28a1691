"""Which account acts, over every combination of what may stand: against a second telling of the rules."""

import time

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mcpist.caller import Caller, Role, Subject
from mcpist.errors import McpistError
from tests.examples import examples
from tests.token_broker.conftest import Broker
from token_broker.grants import grants
from token_broker.grants.grant import AccountChoice
from token_broker.grants.opened import opened_credentials
from token_broker.resolving import credentials

STATES = ("none", "alive", "expired", "dead", "of another role")
ROLES = ("engineering", "support", "sales")
LIVES = {"alive": 3600, "expired": -3600, "dead": 3600, "of another role": 3600}


def connect(door: Broker, owner: str, state: str) -> None:
    """A grant in this state; one for another role is the person's own, but not for the roles that they act with."""
    if state == "none":
        return
    open_to = ("elsewhere",) if state == "of another role" else ()
    grant = door.store(owner, expires_at=int(time.time()) + LIVES[state], open_to=open_to, access_token=f"of-{owner}")
    if state == "dead":
        grants.mark_rejected(grant, "invalid_grant")


def expected(own: str, shared: dict[str, str], roles: tuple[str, ...]) -> str:
    """The rules again: the first that stands decides, the own one before the roles' in their order."""
    standing = [("user#ada", own)] if own not in {"none", "of another role"} else []
    standing += [(f"role#{role}", shared[role]) for role in roles if shared[role] != "none"]
    if not standing:
        return "CONNECTION_REQUIRED"
    owner, state = standing[0]
    return owner if state == "alive" else "RECONNECT_REQUIRED"


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    own=st.sampled_from(STATES),
    shared=st.fixed_dictionaries({role: st.sampled_from(STATES[:-1]) for role in ROLES}),
    roles=st.lists(st.sampled_from(ROLES), unique=True).map(tuple),
    others=st.booleans(),
)
@example(own="dead", shared=dict.fromkeys(ROLES, "alive"), roles=ROLES, others=False)
def test_the_first_existing_grant_decides_and_no_other_ever_acts(
    door: Broker, own: str, shared: dict[str, str], roles: tuple[str, ...], others: bool
) -> None:
    for grant in (*grants.find("acme"), *grants.find("globex")):
        grants.remove(grant)
    opened_credentials.clear()
    connect(door, "user#ada", own)
    for role, state in shared.items():
        connect(door, f"role#{role}", state)
    if others:
        door.store("user#bob", access_token="of-bob")
        door.store("user#ada", organization="globex", access_token="of-globex")
        door.store("user#ada", service="notion", access_token="of-notion")
    caller = Caller("acme", "ada", Subject("https://login.example.com", "ada"), "user", tuple(map(Role, roles)))
    try:
        credential = credentials.resolve(caller, AccountChoice("github"))
        found = credential.owner
        assert credential.token == f"of-{found}"
    except McpistError as error:
        found = error.code
    assert found == expected(own, shared, roles)


@pytest.mark.parametrize("others", [False, True])
def test_a_user_outside_the_role_gets_no_shared_account(door: Broker, others: bool) -> None:
    door.store("role#support")
    if others:
        door.store("role#engineering")
    found = door.ask("resolve", proof=door.jwt("bob"), roles=["engineering"])
    assert found["result"]["owner"] == "role#engineering" if others else found["error"]["type"] == "ConnectionRequired"
