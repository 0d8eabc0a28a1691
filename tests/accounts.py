"""Connecting accounts in a local deployment without the pages of the connect flow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import SecretStr

from infra.local.demo import ORGANIZATION, USER
from infra.local.deployment import LocalDeployment, operating
from mcpist.memory import forget_entries
from mcpist_services import provider_name
from token_broker.grants import grants
from token_broker.grants.grants import GrantedAccount, Tokens

OWN = f"user#{USER.sub}"


def connect(
    deployment: LocalDeployment,
    service: str,
    token: str,
    *,
    owner: str = OWN,
    organization: str = ORGANIZATION,
    **account: Any,
) -> None:
    """Store a grant; it replaces an existing one and keeps that one's services."""
    provider = provider_name(service)
    with _broker(deployment):
        existing = grants.read(organization, provider, owner)
        services = {service, *(existing.account.services if existing else ())}
        grants.save(
            organization,
            provider,
            owner,
            account=GrantedAccount(
                **{"services": tuple(sorted(services)), "account_name": f"uma-at-{provider}", **account}
            ),
            tokens=Tokens(SecretStr(token)),
            replaces=existing.version if existing else 0,
        )


def disconnect(deployment: LocalDeployment, service: str, *, owner: str = OWN) -> None:
    """Delete a grant, and every sandbox that may have it in memory."""
    with _broker(deployment):
        existing = grants.read(ORGANIZATION, provider_name(service), owner)
        if existing:
            grants.remove(existing)
    forget(deployment)


def forget(deployment: LocalDeployment) -> None:
    """Replace all idle sandboxes, so that nothing is left in memory."""
    for pool in deployment.aws.functions.values():
        pool.stop_idle()


@contextmanager
def _broker(deployment: LocalDeployment) -> Iterator[None]:
    """Let the broker's functions in this process act on the embedded AWS."""
    aws = deployment.aws
    with operating(
        aws, GRANTS_TABLE=aws.resource("Grants"), VAULT_KEY=aws.template.intrinsics.get_att("VaultKey", "Arn")
    ):
        try:
            yield
        finally:
            forget_entries()
