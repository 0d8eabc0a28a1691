"""The issuers that say who people are: the deployment's own, and those of companies by the domain of an address.

The operator names them in a setting, JSON: {"globex.com": {"issuer": "https://login.globex.com", "client_id": "4f1c"}};
organizations add their own: see `company_logins`. Item of the directory's table: `domains, DOMAIN`, such an issuer.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from mcpist.aws.attributes import decode
from mcpist.aws.table import directory_table
from mcpist.memory import Memory, cached
from mcpist.settings import settings

ISSUER_CALLBACK_PATH = "/login/callback"
DOMAINS_KEY = "domains"
ISSUERS_CACHE_SECONDS = 5
DOMAIN = re.compile(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+")


@dataclass(frozen=True, slots=True)
class Issuer:
    """An issuer, and our login's client there."""

    url: str
    client_id: str
    domain: str = ""
    """Its people's addresses end with it; empty for the deployment's own issuer, which knows all others."""
    organization: str = ""
    """The only one for whose users it speaks; empty for an issuer that the operator has named."""
    secret: str = ""
    """The last part of the name of its client's secret, for an organization's issuer that has one."""

    @property
    def callback_path(self) -> str:
        """Where its answers come, each at its own path: most do not say whose they are (RFC 9700, 4.4)."""
        return f"{ISSUER_CALLBACK_PATH}/{self.domain}".rstrip("/")

    @property
    def redirect_uri(self) -> str:
        """The address of its answers, as our client has it there."""
        return settings().public_url + self.callback_path

    @property
    def secret_name(self) -> str:
        """The name of the SSM parameter of our client's secret; empty for a client that has none."""
        if self.organization:
            return f"{settings().login_secrets}/by/{self.secret}" if self.secret else ""
        return f"{settings().login_secrets}/{self.domain}" if self.domain else settings().login_secret


issuer_cache: Memory[str, Mapping[str, Issuer]] = Memory(ISSUERS_CACHE_SECONDS, max_entries=1)


def own_issuer() -> Issuer:
    """Return the deployment's own issuer."""
    return Issuer(settings().issuer, settings().login_client_id)


def issuer_of(address: str) -> Issuer:
    """Return the issuer that says who has an address; its case is folded as that of invitations is."""
    return known_issuers().get(address.casefold().rpartition("@")[2], own_issuer())


def known_issuers() -> Mapping[str, Issuer]:
    """Return the issuers of all domains; no organization's takes the place of the operator's."""
    return {**issuer_cache.get_or_make("", stored), **by_domain(settings().issuers_by_domain)}


def stored() -> Mapping[str, Issuer]:
    """Read the issuers that organizations have named, by their domains."""
    return {item["domain"]: decode(Issuer, item) for item in directory_table().query(DOMAINS_KEY)}


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
    if not DOMAIN.fullmatch(domain):
        raise ValueError(f"{domain}: it is no domain")
    return Issuer(url.rstrip("/"), client_id, domain.casefold())
