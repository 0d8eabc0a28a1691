"""The directory, its administrators and masks, and the OAuth apps by which its people connect accounts."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, skipped, warning
from infra.cli.stored_secrets import PARAMETER_STORE_KEY
from mcpist.aws.clients import client
from mcpist.errors import InvalidConfiguration
from mcpist.people import directory
from mcpist.people.organization import Organization
from mcpist.running import broker
from mcpist.tools.access.effects import unmatched_patterns
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.upstream.configuration import load

APP_FORM = 'JSON with "client_id" and "client_secret" (docs/deploy.md)'


def organizations(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that there are organizations, each with an administrator who can log in."""
    known = directory.organizations()
    if not known:
        create = deployment.mcpist(f"org create ORG --administrator ID --issuer {deployment.issuer} --sub SUB")
        yield problem("there is no organization", f"{create} (docs/administration.md).")
    for name in known:
        yield from _people(deployment, directory.read(name))


def roles(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that modules and masks match a tool of this release or an upstream category."""
    categories = _categories(deployment)
    found = [
        (name, pattern)
        for name in directory.organizations()
        for pattern in unmatched_patterns(directory.read(name), CATALOGUE, categories)
    ]
    for name, pattern in found:
        yield warning(
            f"{name}: {pattern}",
            "Correct it with `mcpist role set` or `mcpist org set`, or use the release that is deployed.",
        )
    if not found:
        yield ok("each module and mask matches something")


def _people(deployment: Deployment, organization: Organization) -> Iterator[CheckFinding]:
    issuer = deployment.issuer
    strangers = [user.id for user in organization.users.values() if user.subject.issuer != issuer]
    able = [name for name in organization.administrators if name not in strangers]
    named = f"--restore --administrator ID --issuer {issuer} --sub SUB"
    restore = deployment.mcpist(f"org create {organization.id} {named}")
    if able:
        yield ok(f"{organization.id}: {len(organization.users)} users, administrators: {', '.join(able)}")
    elif organization.administrators:
        yield problem(f"{organization.id}: no administrator has the issuer {issuer}", restore)
    else:
        yield problem(f"{organization.id} has no administrator", restore)
    if strangers and able:
        moved = f"mcpist user set {strangers[0]} --org {organization.id} --issuer {issuer} --sub SUB"
        yield warning(f"{organization.id}: users of another issuer, who cannot log in: {', '.join(strangers)}", moved)


def _categories(deployment: Deployment) -> Collection[str]:
    try:
        return load(deployment.upstreams).all_categories
    except InvalidConfiguration:  # another check says so
        return ()


def apps_stored(deployment: Deployment) -> Iterator[CheckFinding]:
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


def apps_usable(deployment: Deployment) -> Iterator[CheckFinding]:
    """Check that the broker can use each app, and which services have none; this needs an administrator's token."""
    if not deployment.token:
        yield skipped("the broker needs a person: give an administrator's access token with --token")
        return
    names = set(_parameters(deployment))
    organization = deployment.organization or next(iter(directory.organizations()), "")
    modules = {module for role in directory.read(organization).roles.values() for module in role.modules}
    built_in = [one["service"] for one in _ask(deployment, organization, ())]
    wanted = [service for service in built_in if service in modules]
    offered = _ask(deployment, organization, wanted) if wanted else []
    # A provider's name counts as well, whether or not a role has one of its services.
    others = sorted(names - {one["provider"] for one in offered})
    offered += _ask(deployment, organization, others) if others else []
    for provider in dict.fromkeys(one["provider"] for one in offered):
        offers = [one for one in offered if one["provider"] == provider]
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


def _ask(deployment: Deployment, organization: str, services: Sequence[str]) -> list[dict[str, Any]]:
    """Ask the broker about these services, or without any about all built-in ones."""
    proof = {"kind": "jwt", "value": deployment.token}
    asked = {"operation": "offer", "proof": proof, "organization": organization, "services": services}
    offered: list[dict[str, Any]] = broker.invoke(asked)["services"]
    return offered
