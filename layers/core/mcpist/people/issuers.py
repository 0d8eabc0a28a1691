"""The issuers that say who people are: the deployment's own, and those of companies by the domain of an address.

Shape of the setting, JSON: {"globex.com": {"issuer": "https://login.globex.com", "client_id": "4f1c"}}.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcpist.memory import cached
from mcpist.settings import settings

_DOMAIN = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True, slots=True)
class Issuer:
    """An issuer, and our login's client there."""

    url: str
    client_id: str
    domain: str = ""
    """Its people's addresses end with it; empty for the deployment's own issuer, which knows all others."""


def own_issuer() -> Issuer:
    """Return the deployment's own issuer."""
    return Issuer(settings().issuer, settings().login_client_id)


def issuer_of(address: str) -> Issuer:
    """Return the issuer that says who has an address; its case is folded as that of invitations is."""
    return by_domain(settings().issuers_by_domain).get(address.casefold().rpartition("@")[2], own_issuer())


@cached
def by_domain(text: str) -> Mapping[str, Issuer]:
    """Return the issuers of a setting by their domains; ValueError names what is wrong."""
    given = json.loads(text or "{}")
    if not isinstance(given, dict):
        raise ValueError("it is no JSON object of domains")  # noqa: TRY004 - the value is wrong
    return {domain.casefold(): _issuer(domain, fields) for domain, fields in given.items()}


def _issuer(domain: str, fields: object) -> Issuer:
    if not isinstance(fields, dict) or set(fields) != {"issuer", "client_id"}:
        raise ValueError(f"{domain}: it has issuer and client_id, and nothing else")
    url, client_id = fields["issuer"], fields["client_id"]
    if not isinstance(url, str) or not isinstance(client_id, str) or not client_id:
        raise ValueError(f"{domain}: issuer and client_id are texts")
    if not _DOMAIN.fullmatch(domain):
        raise ValueError(f"{domain}: it is no domain")
    return Issuer(url.rstrip("/"), client_id, domain.casefold())
