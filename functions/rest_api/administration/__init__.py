"""Administration: an organization's people, connected accounts and audit."""

from rest_api.administration import (
    audit,
    directory,
    grants,
    invitations,
    modules,
    organization,
    people,
    policies,
    skills,
)

ROUTERS = (
    organization.router,
    people.router,
    invitations.router,
    directory.router,
    grants.router,
    audit.router,
    modules.router,
    policies.router,
    skills.router,
)
