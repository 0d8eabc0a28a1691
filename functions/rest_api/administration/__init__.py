"""Administration: an organization's people, connected accounts and audit."""

from rest_api.administration import (
    audit,
    directory,
    grants,
    invitations,
    module_apps,
    modules,
    organization,
    people,
    policies,
)

ROUTERS = (
    organization.router,
    people.router,
    invitations.router,
    directory.router,
    grants.router,
    audit.router,
    modules.router,
    module_apps.router,
    policies.router,
)
