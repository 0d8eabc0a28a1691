"""The directory: administrators of each organization, and modules and masks that match nothing."""

from collections.abc import Collection, Iterator

from infra.cli.doctor.deployment import CheckFinding, Deployment, ok, problem, warning
from mcpist.errors import InvalidConfiguration
from mcpist.people import directory
from mcpist.people.organization import Organization
from mcpist.tools.access.effects import unmatched_patterns
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.upstream.configuration import load


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
