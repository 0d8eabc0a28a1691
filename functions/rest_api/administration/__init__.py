"""Administration: an organization's people, connected accounts and audit."""

from rest_api.administration import audit, grants, invitations, modules, organization, roles, savings, users

ROUTERS = (
    organization.router,
    users.router,
    invitations.router,
    roles.router,
    grants.router,
    audit.router,
    savings.router,
    modules.router,
)
