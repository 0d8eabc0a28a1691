"""A company's directory as an organization keeps it: its access, groups, and addresses of people."""

from dataclasses import dataclass, field
from typing import Annotated

from mcpist.aws.attributes import Attribute
from mcpist.caller import Subject

ADDRESS_ISSUER = "mailto:"
"""The issuer of people of whom only the address is known: no token can have it."""
DEFAULT_GRANT_DAYS, MAX_GRANT_DAYS = 30, 365


@dataclass(frozen=True, slots=True)
class CompanyDirectory:
    """The directory that may make, change and end memberships of an organization."""

    token_hash: str = field(default="", repr=False)
    """The hash of the token with which it comes; empty after it was revoked."""
    token_made_at: int = 0
    """In epoch seconds."""
    grant_days: int = DEFAULT_GRANT_DAYS
    """How long the accounts of a deactivated user are kept."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the company's directory."""

    id: Annotated[str, Attribute("group")]
    name: str
    external_id: str = ""
    roles: tuple[str, ...] = ()
    """The roles that an administrator gives its members."""


def address_subject(address: str) -> Subject:
    """Return the subject under which a membership waits for the person who has an address."""
    return Subject(ADDRESS_ISSUER, address.casefold())
