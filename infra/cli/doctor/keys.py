"""The KMS keys: enabled, rotating, and the vault's key for the broker alone."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from infra.cli.doctor.deployment import Deployment, template
from infra.cli.doctor.finding import Finding, ok, problem, warning
from infra.local.names import ACCOUNT
from mcpist.aws.clients import client

type Right = tuple[str, str, str, str]


def key(deployment: Deployment, id_: str) -> Iterator[Finding]:
    """Check that a key of the stack is enabled and rotates."""
    named = deployment.resources[id_]
    about = _state(deployment, named)
    if about is not None:
        yield about
        return
    if client("kms").get_key_rotation_status(KeyId=named)["KeyRotationEnabled"]:
        yield ok(f"{named} is enabled and rotates")
    else:
        yield warning(f"{named} does not rotate", deployment.aws(f"kms enable-key-rotation --key-id {named}"))


def former(deployment: Deployment) -> Iterator[Finding]:
    """Check that data under the former key can still be decrypted."""
    named = deployment.parameters["FormerVaultKey"]
    if named:
        yield _state(deployment, named) or ok(f"{named} is enabled")


def policy(deployment: Deployment) -> Iterator[Finding]:
    """Check that only the broker's role may use the vault's key, by comparing its policy with the template's."""
    named = deployment.resources["VaultKey"]
    arn = client("kms").describe_key(KeyId=named)["KeyMetadata"]["Arn"]
    written = _written(deployment, arn)
    current = set(_rights(json.loads(client("kms").get_key_policy(KeyId=named, PolicyName="default")["Policy"])))
    expected = set(_rights(json.loads(written)))
    remedy = deployment.aws(f"kms put-key-policy --key-id {named} --policy-name default --policy '{written}'")
    for effect, who, what, condition in sorted(current - expected):
        statement = f"{effect} {what} to {who}" + (f" if {condition}" if condition else "")
        yield problem(f"the policy has more than the template: {statement}", remedy)
    for effect, who, what, _ in sorted(expected - current):
        yield problem(f"the policy lacks: {effect} {what} to {who}", remedy)
    if current == expected:
        yield ok("only the token broker's role may use it, as the template says")


def _state(deployment: Deployment, named: str) -> Finding | None:
    """Return the problem that prevents the use of a key, if there is one."""
    kms = client("kms")
    try:
        about = kms.describe_key(KeyId=named)["KeyMetadata"]
    except kms.exceptions.NotFoundException:
        return problem(
            f"there is no key {named}", "Its data cannot be decrypted: deploy again, and connect all accounts again."
        )
    enable = deployment.aws(f"kms enable-key --key-id {named}")
    match about["KeyState"]:
        case "Enabled":
            return None
        case "PendingDeletion":
            at = f"{about['DeletionDate']:%Y-%m-%d}" if "DeletionDate" in about else "soon"
            cancel = deployment.aws(f"kms cancel-key-deletion --key-id {named}")
            return problem(f"{named} will be deleted: {at}", f"At once: {cancel}, then {enable}.")
        case state:
            return problem(f"{named} is {state}: its data cannot be decrypted", enable)


def _written(deployment: Deployment, arn: str) -> str:
    """Return the template's policy with the names of this account."""
    (vault,) = (one for one in template().keys if one.id == "VaultKey")
    partition, account = arn.split(":")[1], arn.split(":")[4]
    role = template().intrinsics.get_att("TokenBrokerRole", "Arn")
    own = f"arn:{partition}:iam::{account}:role/{deployment.resources['TokenBrokerRole']}"
    text = json.dumps(vault.policy).replace(role, own)
    return text.replace(f"arn:aws:iam::{ACCOUNT}:root", f"arn:{partition}:iam::{account}:root")


def _rights(policy: Mapping[str, Any]) -> Iterator[Right]:
    """Yield each effect, principal, action and condition of a policy, however it groups them."""
    for statement in _many(policy["Statement"]):
        condition = json.dumps(statement["Condition"], sort_keys=True) if "Condition" in statement else ""
        for who in _principals(statement):
            for what in _many(statement.get("Action", json.dumps({"NotAction": statement.get("NotAction")}))):
                yield statement["Effect"], who, what, condition


def _principals(statement: Mapping[str, Any]) -> Iterator[str]:
    given = statement.get("Principal", {"NotPrincipal": json.dumps(statement.get("NotPrincipal"))})
    if isinstance(given, str):
        given = {"AWS": given}
    for kind, names in given.items():
        yield from (name if kind == "AWS" else f"{kind}:{name}" for name in _many(names))


def _many(one_or_more: Any) -> list[Any]:
    return one_or_more if isinstance(one_or_more, list) else [one_or_more]
