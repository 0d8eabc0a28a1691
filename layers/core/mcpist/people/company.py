"""A company's directory as an organization keeps it: its access, groups, and addresses of people."""

import re
from dataclasses import dataclass, field
from typing import Annotated

from mcpist.aws.attributes import Attribute
from mcpist.caller import Subject
from mcpist.loopback import is_loopback_url
from mcpist.settings import settings

ADDRESS_ISSUER = "mailto:"
"""The issuer of people of whom only the address is known: no token can have it."""
DEFAULT_GRANT_DAYS, MAX_GRANT_DAYS = 30, 365
MAX_ISSUER_CHARACTERS = 300


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


def is_issuer_url(url: str) -> bool:
    """Whether a URL may be that of another issuer: by https, or on this machine where the deployment's own is there."""
    is_local = settings().local_services or is_loopback_url(settings().issuer)
    is_safe = url.startswith("https://") or (is_local and is_loopback_url(url))
    is_short = len(url) <= MAX_ISSUER_CHARACTERS and not re.search(r"[#?\s]", url)
    return is_safe and is_short and url != settings().public_url
