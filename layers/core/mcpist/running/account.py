"""The account that acts: as whom, and where, a module's Calls are sent."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mcpist.errors import ReconnectRequired
from mcpist.running.broker import Credential
from mcpist.settings import settings
from mcpist.tools.call import Call, path
from mcpist.tools.module import Module

_SECRET_HEADER = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)


@dataclass(frozen=True)
class Account:
    """A module's service as one account of an organization reaches it; without a credential it is nobody's."""

    organization: str
    module: Module
    credential: Credential | None

    @cached_property
    def key(self) -> tuple[str, ...]:
        """What tells this account from every other, in memory that many share; a new token changes nothing."""
        owner = (self.credential.owner, self.credential.account_id) if self.credential else ()
        return self.organization, self.module.name, *owner

    def url(self, call: Call) -> str:
        """Where a Call goes; ValueError for an origin that the module does not allow."""
        if call.origin:
            if not re.fullmatch(self.module.origins, call.origin):
                raise ValueError(f"{self.module.name} has no origin {call.origin}")
            return call.origin + call.path
        return self._host() + call.path

    def token(self, call: Call) -> str:
        """The grant's token, for the module's own host alone."""
        return "" if call.origin or self.credential is None else self.credential.token

    def headers(self, call: Call) -> dict[str, str]:
        """What a Call is sent with: no module and no tool can replace the token."""
        headers = {} if call.origin else dict(self.module.headers)
        headers = {name.lower(): value for name, value in {**headers, **call.headers}.items()}
        token = self.token(call)
        return headers | ({"authorization": f"Bearer {token}"} if token else {})

    def secrets(self, call: Call) -> Iterator[str]:
        """What of a Call's headers nobody may read in an error, should the service repeat it."""
        for name, value in self.headers(call).items():
            if _SECRET_HEADER.search(name):
                yield from (value, value.rpartition(" ")[2])

    def _host(self) -> str:
        host = self.module.host
        if "{account}" not in host:
            return host
        if self.credential is None or not self.credential.account_id:
            raise ReconnectRequired(service=self.module.name, url=settings().connect_url(self.module.name))
        return path(host, account=self.credential.account_id)
