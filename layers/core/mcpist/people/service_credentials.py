"""The credentials of service users: programs that act for no person, and log in at our own login by themselves.

Item of the directory's table: `subject#OUR ISSUER#CLIENT, service`. The subject is the user's, so the read of a request
brings both. Without the user they are good for nothing; when they are replaced, their tokens end within seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from mcpist.aws.attributes import Attribute, decode, encode
from mcpist.aws.table import directory_table
from mcpist.caller import Subject
from mcpist.people import directory
from mcpist.settings import settings

CREDENTIALS_KEY = "service"
SERVICE_CLIENT_PREFIX = "service-"


@dataclass(frozen=True, slots=True)
class ServiceCredentials:
    """The proof of a service user."""

    id: Annotated[str, Attribute("credentials")]
    """What their tokens name; others have another id."""
    method: str
    """`private_key_jwt` or `client_secret_basic`."""
    created_at: int
    """In epoch seconds."""
    jwks_url: str = ""
    """Where the program publishes its keys."""
    public_key: Mapping[str, Any] = field(default_factory=dict)
    """Its key as a JWK, if it publishes none."""
    secret_hash: str = field(default="", repr=False)


def subject_of(client_id: str) -> Subject:
    """Return the subject of a service user: its client, on our own word."""
    return Subject(settings().public_url, client_id)


def read(client_id: str) -> ServiceCredentials | None:
    """Return the credentials of a client, cached for seconds."""
    items = directory.read_subject(subject_of(client_id))
    return next((decode(ServiceCredentials, item) for item in items if item["sk"] == CREDENTIALS_KEY), None)


def are_live(subject: Subject, credentials: str) -> bool:
    """Whether these are the present credentials of a service user."""
    found = read(subject.sub)
    return found is not None and found.id == credentials


def store(client_id: str, credentials: ServiceCredentials) -> None:
    """Store the credentials of a client in place of those that it has."""
    key = {"pk": directory.subject_key(subject_of(client_id)), "sk": CREDENTIALS_KEY}
    directory_table().put(key | encode(credentials))
    directory.access_cache.drop(lambda subject, _: subject == subject_of(client_id))
