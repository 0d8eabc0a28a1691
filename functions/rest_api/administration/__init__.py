"""Administration: an organization's people, connected accounts and audit."""

from rest_api.administration import (
    audit,
    directory,
    grants,
    invitations,
    logins,
    module_apps,
    modules,
    organization,
    people,
    policies,
    services,
)

ROUTERS = (
    organization.router,
    people.router,
    services.router,
    invitations.router,
    directory.router,
    logins.router,
    grants.router,
    audit.router,
    modules.router,
    module_apps.router,
    policies.router,
)
