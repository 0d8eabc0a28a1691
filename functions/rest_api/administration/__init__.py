"""Administration: an organization's people, connected accounts and audit."""

from rest_api.administration import audit, grants, invitations, modules, organization, people, services

ROUTERS = (
    organization.router,
    people.router,
    services.router,
    invitations.router,
    grants.router,
    audit.router,
    modules.router,
)
