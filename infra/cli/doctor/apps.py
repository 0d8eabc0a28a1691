"""OAuth apps at the providers: stored as secrets, readable and usable by the broker alone."""

from collections.abc import Iterator, Sequence
from typing import Any

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, skipped, warning
from infra.cli.stored_secrets import PARAMETER_STORE_KEY
from mcpist.aws.clients import client
from mcpist.people import directory
from mcpist.running import broker

APP_FORM = 'JSON with "client_id" and "client_secret" (docs/deploy.md)'


def stored(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that each app is stored as a secret that the broker may decrypt; no value is read."""
    parameters = _parameters(deployment)
    for name, about in parameters.items():
        path = f"{_folder(deployment)}/{name}"
        again = _put(deployment, name)
        if not deployment.embedded:  # AWS does not change the type or the key of a parameter
            again = f"{deployment.aws(f'ssm delete-parameter --name {path}')}, then {again}"
        if about["Type"] != "SecureString":
            found = f"{path} is a plain {about['Type']}: everybody who may read parameters reads the secret"
            yield problem(found, f"{again}. Change the secret at the provider, too.")
        elif about.get("KeyId", "") not in {"", PARAMETER_STORE_KEY}:
            yield problem(f"{path} is encrypted with {about['KeyId']}, which the broker may not use", f"{again}.")
    names = [name for name, about in parameters.items() if about["Type"] == "SecureString"]
    if not parameters:
        yield ok(f"none is stored below {_folder(deployment)}")
    elif names:
        yield ok(f"SecureStrings: {', '.join(sorted(names))}")


def usable(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the broker can use each app, and which services have none; this needs an administrator's token."""
    if not deployment.token:
        yield skipped("the broker needs a person: give an administrator's access token with --token")
        return
    names = set(_parameters(deployment))
    offered = _offer(deployment, _wanted(deployment))
    # A provider's name counts as well, whether or not a role has one of its services.
    offered += _offer(deployment, sorted(names - {one["provider"] for one in offered}))
    for provider, offers in _by_provider(offered).items():
        services = ", ".join(one["service"] for one in offers)
        if not offers[0]["asks"]:
            yield ok(f"{services}: people paste a key" if offers[0]["keys"] else f"{services}: no account is needed")
        elif offers[0]["consent"]:
            yield ok(f"{provider}: the broker can use it, for {services}")
        elif provider in names:
            found = f"{_folder(deployment)}/{provider} exists, but the broker cannot use it"
            yield problem(found, f"It must be {APP_FORM}: {_put(deployment, provider)}.")
        else:
            keys = "; keys can be pasted" if offers[0]["keys"] else ""
            remedy = f"Register one there, with {deployment.url}/connect/callback/{provider}; then"
            yield warning(
                f"{provider} has no app: nobody can log in to {services}{keys}",
                f"{remedy} {_put(deployment, provider)}.",
            )


def _parameters(deployment: Deployment) -> dict[str, dict[str, Any]]:
    """Return Parameter Store's description of each app's parameter, by its provider."""
    folder = _folder(deployment)
    pages = client("ssm").get_paginator("describe_parameters")
    asked = [{"Key": "Path", "Option": "OneLevel", "Values": [folder]}]
    found = (one for page in pages.paginate(ParameterFilters=asked) for one in page["Parameters"])
    return {one["Name"].removeprefix(f"{folder}/"): one for one in found}


def _folder(deployment: Deployment) -> str:
    return f"/mcpist/{deployment.name}/oauth"


def _put(deployment: Deployment, provider: str) -> str:
    return deployment.mcpist(f"grant app {provider} app.json")


def _wanted(deployment: Deployment) -> list[str]:
    """Return the built-in services that are modules of a role of the organization."""
    roles = directory.read(_organization(deployment)).roles.values()
    modules = {module for role in roles for module in role.modules}
    return [one["service"] for one in _ask(deployment, ()) if one["service"] in modules]


def _offer(deployment: Deployment, services: Sequence[str]) -> list[dict[str, Any]]:
    return _ask(deployment, services) if services else []


def _ask(deployment: Deployment, services: Sequence[str]) -> list[dict[str, Any]]:
    """Ask the broker about these services, or without any about all built-in ones."""
    proof = {"kind": "jwt", "value": deployment.token}
    asked = {"operation": "offer", "proof": proof, "organization": _organization(deployment), "services": services}
    offered: list[dict[str, Any]] = broker.invoke(asked)["services"]
    return offered


def _organization(deployment: Deployment) -> str:
    return deployment.organization or next(iter(directory.organizations()), "")


def _by_provider(offers: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for offer in offers:
        found.setdefault(offer["provider"], []).append(offer)
    return found
