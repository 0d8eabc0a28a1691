"""Where an organization is told about approvals: a URL, or `SERVICE:ROLE/PLACE`.

The latter is a channel or a person at a service, with the role whose shared account sends. The token broker gives out
that account for the address alone, whoever waits.
"""

import re
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from mcpist.audit import record as audit
from mcpist.aws.attributes import decode
from mcpist.aws.table import directory_table
from mcpist.caller import Caller, Role
from mcpist.errors import AuthorizationError

_PLACE = re.compile(r"(?P<service>[a-z][a-z0-9_-]*):(?P<role>[^/#]+)/(?P<name>[^/\s][^/]*)")


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """A channel or a person at a service, and the role whose shared account sends."""

    service: str
    role: str
    name: str


@dataclass(frozen=True, slots=True)
class NotificationAddress:
    """Where an organization is told about approvals."""

    url: str
    secret: str = field(repr=False)
    """The key of the signatures, as its receiver has it."""

    @property
    def place(self) -> MessagePlace | None:
        """Where a message is sent; None for a webhook."""
        found = _PLACE.fullmatch(self.url)
        return MessagePlace(**found.groupdict()) if found else None

    @property
    def host(self) -> str:
        """The address as the audit names it: of a URL the host alone, since its path may be a secret."""
        return self.url if self.place else urlsplit(self.url).hostname or ""


def find_address(organization: str) -> NotificationAddress | None:
    """Return the address of an organization; None if it has none."""
    items = directory_table().query(partition_key(organization))
    return next((decode(NotificationAddress, item) for item in items if item["url"]), None)


def sender(caller: Caller) -> tuple[Caller, str]:
    """Return the sender of an organization's messages, which is the role of its address alone, and the service."""
    address = find_address(caller.organization)
    if address is None or (place := address.place) is None:
        raise AuthorizationError(name="the account of the organization's notifications")
    return replace(caller, user=audit.OPERATOR, roles=(Role(place.role),)), place.service


def partition_key(organization: str) -> str:
    """Return the partition key of an organization's address, in the directory's table."""
    return f"notification#{organization}"
