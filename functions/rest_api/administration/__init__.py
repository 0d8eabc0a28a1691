"""Administration: an organization's people, connected accounts and audit."""

from rest_api.administration import audit, grants, invitations, modules, organization, people

ROUTERS = (
    organization.router,
    people.router,
    invitations.router,
    grants.router,
    audit.router,
    modules.router,
)
