"""Accounts that are connected by the operator's hand, as the connect flow would."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from infra.local.house import ORGANIZATION, USER, House
from infra.local.operating import operating
from mcpist.settings import settings
from token_broker.grants import grants, memory
from token_broker.grants.grants import Account, Tokens
from token_broker.vault import vault

OWN = f"user#{USER.sub}"


def connect(house: House, token: str, *, owner: str = OWN, service: str = "github", **account: Any) -> None:
    """Store a grant, in the place of one that stands there; what served before is still served."""
    provider = grants.provider_name(service)
    with _broker(house):
        standing = grants.read(ORGANIZATION, provider, owner)
        services = {service, *(standing.account.services if standing else ())}
        grants.save(
            ORGANIZATION,
            provider,
            owner,
            account=Account(**{"services": tuple(sorted(services)), "account_name": "uma-at-github", **account}),
            tokens=Tokens(SecretStr(token)),
            replaces=standing.version if standing else 0,
        )


def disconnect(house: House, *, owner: str = OWN, service: str = "github") -> None:
    """Delete a grant, and let nobody remember it."""
    with _broker(house):
        standing = grants.read(ORGANIZATION, grants.provider_name(service), owner)
        if standing:
            grants.remove(standing)
    forget(house)


def forget(house: House) -> None:
    """New sandboxes for everybody, with nothing in their memory."""
    for pool in house.aws.functions.values():
        pool.retire()


@contextmanager
def _broker(house: House) -> Iterator[None]:
    """This process as the broker's operator."""
    with operating(house.aws):
        os.environ["GRANTS_TABLE"] = house.aws.resource("Grants")
        os.environ["VAULT_KEY"] = house.aws.attribute("VaultKey", "Arn")
        settings.cache_clear()
        try:
            yield
        finally:
            memory._kept.clear()
            vault._keys.clear()
