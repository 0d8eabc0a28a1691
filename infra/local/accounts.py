"""Accounts that are connected by the operator's hand, as the connect flow would."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from infra.local.deployment import ORGANIZATION, USER, LocalDeployment
from infra.local.environment import operating
from mcpist.memory import forget_entries
from mcpist.settings import settings
from mcpist_services import provider_name
from token_broker.grants import grants
from token_broker.grants.grants import Account, Tokens

OWN = f"user#{USER.sub}"


def connect(
    deployment: LocalDeployment, token: str, *, owner: str = OWN, service: str = "github", **account: Any
) -> None:
    """Store a grant, in the place of one that stands there; what served before is still served."""
    provider = provider_name(service)
    with _broker(deployment):
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


def disconnect(deployment: LocalDeployment, *, owner: str = OWN, service: str = "github") -> None:
    """Delete a grant, and let nobody remember it."""
    with _broker(deployment):
        standing = grants.read(ORGANIZATION, provider_name(service), owner)
        if standing:
            grants.remove(standing)
    forget(deployment)


def forget(deployment: LocalDeployment) -> None:
    """New sandboxes for everybody, with nothing in their memory."""
    for pool in deployment.aws.functions.values():
        pool.stop_idle()


@contextmanager
def _broker(deployment: LocalDeployment) -> Iterator[None]:
    """This process as the broker's operator."""
    with operating(deployment.aws):
        os.environ["GRANTS_TABLE"] = deployment.aws.resource("Grants")
        os.environ["VAULT_KEY"] = deployment.aws.attribute("VaultKey", "Arn")
        settings.cache_clear()
        try:
            yield
        finally:
            forget_entries()
