"""A company's directory as an organization keeps it: its access, groups, and the names and addresses of people."""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from mcpist.aws.attributes import Attribute
from mcpist.caller import Subject
from mcpist.loopback import is_loopback_url
from mcpist.settings import settings

ADDRESS_ISSUER = "mailto:"
"""The issuer of people of whom only the address is known: no token can have it."""
DEFAULT_GRANT_DAYS, MAX_GRANT_DAYS = 30, 365
MAX_ISSUER_CHARACTERS = 300
TOKEN_MARK = "scim_"  # noqa: S105 - with which tokens begin, so that scanners find one
MAX_DIRECTORY_TOKEN_CHARACTERS = 1_000


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


def address_of(scim: Mapping[str, Any]) -> str:
    """Return the address of a user as the directory describes them."""
    emails = sorted(scim.get("emails", ()), key=lambda email: not email.get("primary"))
    return str(next((email["value"] for email in emails), scim["userName"]))


def name_of(scim: Mapping[str, Any]) -> str:
    """Return the name of a user as the directory describes them."""
    parts = scim.get("name", {})
    spelled = parts.get("formatted") or " ".join(filter(None, map(parts.get, ("givenName", "familyName"))))
    return str(scim.get("displayName") or spelled or scim["userName"])


def organization_of(token: str) -> str:
    """Return the organization that a token names; empty for a value of another form."""
    encoded, _, secret = token.removeprefix(TOKEN_MARK).partition(".")
    if not token.startswith(TOKEN_MARK) or not secret or len(token) > MAX_DIRECTORY_TOKEN_CHARACTERS:
        return ""
    try:
        return base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True).decode()
    except ValueError:
        return ""


def token_hash(token: str) -> str:
    """Return the form in which a token is kept."""
    return hashlib.sha256(f"a directory's token\n{token}".encode(errors="replace")).hexdigest()


def is_issuer_url(url: str) -> bool:
    """Whether a URL may be that of another issuer: by https, or on this machine where the deployment's own is there."""
    is_local = settings().local_services or is_loopback_url(settings().issuer)
    is_safe = url.startswith("https://") or (is_local and is_loopback_url(url))
    is_short = len(url) <= MAX_ISSUER_CHARACTERS and not re.search(r"[#?\s]", url)
    return is_safe and is_short and url != settings().public_url
