"""The page of the person: roles, accounts, language, the endpoint's address, browsers, and own rows of the audit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from console import client_lines, logs, own_connections
from console.cookies import clear_cookie, set_language_cookie
from console.sign_ins import SIGN_OUT_EVERYWHERE, record_sign_out
from console.visit import Visit
from mcpist.aws.http_request import HttpResponse
from mcpist.caller import Role
from mcpist.errors import InvalidRequest, Locale
from mcpist.people import browsers, own_settings
from mcpist.tools.index import ModuleEntry
from mcpist.tools.role_rules import role_permits

LANGUAGES = ("en", "ja")
MAX_SHOWN_MODULES = 60
MAX_EXPLAINED_ROLES = 10

type AllowedModule = tuple[ModuleEntry, Mapping[str, int]]


def show(visit: Visit) -> HttpResponse:
    """Show who the person is here, and how to use the endpoint."""
    allowed = _allowed(visit)
    modules, roles = [module for module, _ in allowed], visit.caller.roles[:MAX_EXPLAINED_ROLES]
    return visit.page(
        "profile.html",
        mcp_url=visit.mcp_url,
        clients=client_lines.lines(visit.mcp_url),
        browsers=browsers.find(visit.caller.subject),
        this_browser=browsers.key_of(visit.session.id),
        page=logs.own_rows(visit),
        connections=own_connections.find_own(visit),
        allowed=allowed,
        allowed_by={role.name: _allowed_by(visit, role, modules) for role in roles},
        max_modules=MAX_SHOWN_MODULES,
    )


def submit(visit: Visit) -> HttpResponse:
    """Change the language, or sign browsers out."""
    request, subject = visit.request, visit.caller.subject
    match request.form_value("action"):
        case "language":
            language = request.form_value("language")
            if language not in LANGUAGES:
                raise InvalidRequest(field="language", problem=f"it is one of {', '.join(LANGUAGES)}")
            own_settings.set_locale(visit.caller, cast("Locale", language), visit.request_id)
            return visit.redirect("/profile", done="language", cookies=[set_language_cookie(request, language)])
        case "sign_out_there":
            record_sign_out(subject, browsers.sign_out(subject, request.form_value("browser")))
            return visit.redirect("/profile", done="signed_out_there")
        case "sign_out":
            record_sign_out(subject, browsers.sign_out(subject, browsers.key_of(visit.session.id)))
        case "sign_out_everywhere":
            record_sign_out(subject, browsers.sign_out_everywhere(subject), SIGN_OUT_EVERYWHERE)
        case _:
            raise InvalidRequest(field="action", problem="this action is unknown")
    return visit.redirect("/signed-out", cookies=[clear_cookie(request, "session")])


def _allowed(visit: Visit) -> Sequence[AllowedModule]:
    """Return the modules that the person's roles open, each with the number of tools of every effect."""
    permissions = visit.permissions
    return [(module, Counter(tool.effect for tool in permissions.tools(module))) for module in permissions.modules()]


def _allowed_by(visit: Visit, role: Role, modules: Iterable[ModuleEntry]) -> Sequence[AllowedModule]:
    """Return the same of one role: the tools that the person can use by it, were it the only one."""
    found: list[AllowedModule] = []
    for module in modules:
        own = [tool for tool in visit.permissions.tools(module) if role_permits(role, tool)]
        if own:
            found.append((module, Counter(tool.effect for tool in own)))
    return found
