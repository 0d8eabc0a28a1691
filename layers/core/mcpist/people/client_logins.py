"""Our own login as every door needs it: the clients that act for a person, and the public keys of its tokens.

A token lives as long as the item of its client's login. KMS holds the keys: only the login's function may sign with
them.

Item of the table of logins: `person#ISSUER#SUB, client#ID`. The login writes it, the console lists and deletes it, and
every door reads it, so that a client whose access was ended is refused within seconds.
Source: https://docs.aws.amazon.com/kms/latest/APIReference/API_GetPublicKey.html
"""

import time
from dataclasses import dataclass
from typing import Annotated, Any

from mcpist.aws.attributes import Attribute, decode
from mcpist.aws.clients import client, store_errors
from mcpist.aws.table import Table
from mcpist.caller import Subject
from mcpist.memory import Memory
from mcpist.settings import settings

LIVE_CACHE_SECONDS = 5
MAX_CACHED_LOGINS = 1_000
CLIENT_PREFIX = "client#"
# The console's own login; it ends when the broker has exchanged its token for a session.
CONSOLE_CLIENT = "console"

live_logins: Memory[tuple[Subject, str], bool] = Memory(LIVE_CACHE_SECONDS, MAX_CACHED_LOGINS)


@dataclass(frozen=True, slots=True)
class ClientLogin:
    """A client that may act for a person."""

    id: Annotated[str, Attribute("login")]
    client_id: str
    client_name: str
    """What the client calls itself."""
    redirect_uri: str
    """Where the answer of the login went."""
    began_at: int
    """When the person let it act, in epoch seconds."""
    used_at: int
    """When it last got an access token, in epoch seconds."""
    expires_at: int
    """When it ends unless it is used, in epoch seconds."""


def logins_table() -> Table:
    """Return the table of our own login."""
    return Table(settings().logins_table, "logins")


def person_key(subject: Subject) -> str:
    """Return the partition key of a person's items."""
    return f"person#{subject.issuer}#{subject.sub}"


def find(subject: Subject) -> list[ClientLogin]:
    """Return the clients that may act for a person, the last used first; none where another issuer logs people in."""
    if not settings().logins_table:
        return []
    items = logins_table().query(person_key(subject), CLIENT_PREFIX)
    found = [decode(ClientLogin, item) for item in items if item["expires_at"] > time.time()]
    own = [login for login in found if login.client_id != CONSOLE_CLIENT]
    return sorted(own, key=lambda login: login.used_at, reverse=True)


def end(subject: Subject, login: str) -> None:
    """End a client's login: its tokens are refused at every door within seconds, and it gets no new ones."""
    logins_table().delete(person_key(subject), CLIENT_PREFIX + login)
    live_logins.drop(lambda key, _: key == (subject, login))


def is_live(subject: Subject, login: str) -> bool:
    """Whether a client's login has not ended."""
    if live_logins.get((subject, login)):
        return True
    item = logins_table().get(person_key(subject), CLIENT_PREFIX + login)
    return item is not None and item["expires_at"] > time.time() and live_logins.put((subject, login), True)


SIGNATURE_ALGORITHM = "ES256"


def key_id(arn: str) -> str:
    """Return the id that tokens name."""
    return arn.rpartition("/")[2]


def key_ids() -> tuple[str, ...]:
    """Return the ids of all keys, that which signs first."""
    return tuple(map(key_id, settings().login_keys))


def published_keys() -> dict[str, Any]:
    """Return the keys as a JSON Web Key Set."""
    return {"keys": [_public_key(arn) for arn in settings().login_keys]}


def _public_key(arn: str) -> dict[str, Any]:
    from cryptography.hazmat.primitives.serialization import load_der_public_key
    from jwt.algorithms import ECAlgorithm

    with store_errors("login"):
        der = client("kms").get_public_key(KeyId=arn)["PublicKey"]
    key: Any = load_der_public_key(der)
    return {**ECAlgorithm.to_jwk(key, as_dict=True), "kid": key_id(arn), "use": "sig", "alg": SIGNATURE_ALGORITHM}
