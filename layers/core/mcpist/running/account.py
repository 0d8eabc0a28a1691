"""The account that acts: the credential and the address that a module's Calls are sent with."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mcpist.errors import ReconnectRequired
from mcpist.running.broker import Credential
from mcpist.settings import settings
from mcpist.tools.declare.call import Call, path
from mcpist.tools.declare.module import Module

_SECRET_HEADER = re.compile(r"auth|cookie|key|secret|token", re.IGNORECASE)


@dataclass(frozen=True)
class Account:
    """A module's service as one account of an organization reaches it."""

    organization: str
    module: Module
    credential: Credential | None
    """None for a service that needs no account."""

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The account's key in memory that accounts share; a new token does not change it."""
        owner = (self.credential.owner, self.credential.account_id) if self.credential else ()
        return self.organization, self.module.name, *owner

    def url(self, call: Call) -> str:
        """Return the address of a Call; ValueError for an origin that the module does not allow."""
        if call.origin:
            if not re.fullmatch(self.module.origins, call.origin):
                raise ValueError(f"{self.module.name} has no origin {call.origin}")
            return call.origin + call.path
        return self._host() + call.path

    def token(self, call: Call) -> str:
        """Return the grant's token; empty for any other origin than those that the module declares as its own."""
        is_own = not call.origin or call.origin in self.module.token_origins
        return self.credential.token if self.credential and is_own else ""

    def headers(self, call: Call) -> dict[str, str]:
        """Return the headers of a Call's request; no module and no tool can replace the token."""
        headers = {} if call.origin else dict(self.module.headers)
        headers = {name.lower(): value for name, value in {**headers, **call.headers}.items()}
        token = self.token(call)
        return headers | (self.module.credential.headers(token) if token else {})

    def query(self, call: Call) -> Mapping[str, Any]:
        """Return the query of a Call's request, with the key of a service that expects it there."""
        token = self.token(call)
        return {**call.query, **self.module.credential.query(token)} if token else call.query

    def secrets(self, call: Call) -> Iterator[str]:
        """Yield the secrets of a Call's request, which an error must not show if the service repeats them."""
        for name, value in self.headers(call).items():
            if _SECRET_HEADER.search(name):
                yield from (value, value.rpartition(" ")[2])
        if token := self.token(call):
            yield from self.module.credential.secrets(token)

    def _host(self) -> str:
        host = self.module.host
        if "{account}" not in host:
            return host
        if self.credential is None or not self.credential.account_id:
            raise ReconnectRequired(service=self.module.name, url=settings().connect_url(self.module.name))
        return path(host, account=self.credential.account_id)
