"""The page of the person: roles, accounts, language, the endpoint's address, browsers, and own rows of the audit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from console import logs
from console.activity import newest_uses
from console.cookies import CHOICE_SECONDS, clear_cookie
from console.rendering import json_text
from console.sign_in.sessions import SIGN_OUT_EVERYWHERE, record_end, record_sign_out
from console.visit import DENSITIES, Visit
from mcpist.caller import Role, labelled
from mcpist.errors import InvalidRequest, Locale
from mcpist.http.request import HttpResponse
from mcpist.people import administration, browsers, client_logins, directory, memberships
from mcpist.running.accounts import BrokerAccounts
from mcpist.tools.access.role_rules import role_permits
from mcpist.tools.search.index import ModuleEntry

MAX_SHOWN_MODULES = 60
MAX_EXPLAINED_ROLES = 10
USE_DAYS = 30

type Row = Mapping[str, Any]
type AllowedModule = tuple[ModuleEntry, Mapping[str, int]]


def show(visit: Visit) -> HttpResponse:
    """Show who the person is here, and how to use the endpoint."""
    permissions = visit.permissions
    allowed = [(module, Counter(tool.effect for tool in permissions.tools(module))) for module in permissions.modules()]
    modules, roles = [module for module, _ in allowed], visit.caller.roles[:MAX_EXPLAINED_ROLES]
    return visit.page(
        "profile.html",
        mcp_url=visit.mcp_url,
        clients=client_lines(visit.mcp_url),
        organizations=directory.identify_all(visit.caller.subject),
        asked=directory.known(visit.caller.subject).waiting,
        default=directory.known(visit.caller.subject).default,
        browsers=browsers.find(visit.caller.subject),
        this_browser=browsers.key_of(visit.session.id),
        programs=client_logins.find(visit.caller.subject),
        page=logs.own_rows(visit),
        connections=_own_connections(visit),
        allowed=allowed,
        allowed_by={role.name: _allowed_by(visit, role, modules) for role in roles},
        max_modules=MAX_SHOWN_MODULES,
    )


def submit(visit: Visit) -> HttpResponse:
    """Change the language or the density, answer an organization, choose the default one, or sign browsers out."""
    request, subject = visit.request, visit.caller.subject
    match request.form_value("action"):
        case "accepted" | "declined" as given:
            memberships.answer(subject, request.form_value("organization"), given, visit.request_id)
            done = "membership_accepted" if given == "accepted" else "membership_declined"
            return visit.redirect("/profile", done=done)
        case "default":
            memberships.choose_default(visit.caller, request.form_value("organization"), visit.request_id)
            return visit.redirect("/profile", done="default_organization")
        case "language":
            language = request.form_value("language")
            administration.set_locale(visit.caller, cast("Locale", language), visit.request_id)
            cookie = request.set_cookie("language", language, CHOICE_SECONDS)
            return visit.redirect("/profile", done="language", cookies=[cookie])
        case "density":
            density = request.form_value("density")
            if density not in DENSITIES:
                raise InvalidRequest(field="density", problem=f"it is one of {', '.join(DENSITIES)}")
            cookie = request.set_cookie("density", density, CHOICE_SECONDS)
            return visit.redirect("/profile", done="density", cookies=[cookie])
        case "sign_out_there":
            record_sign_out(subject, browsers.sign_out(subject, request.form_value("browser")))
            return visit.redirect("/profile", done="signed_out_there")
        case "end_client":
            client_logins.end(subject, request.form_value("login"))
            record_end(visit.caller, request.form_value("login"))
            return visit.redirect("/profile", done="client_ended")
        case "sign_out":
            record_sign_out(subject, browsers.sign_out(subject, browsers.key_of(visit.session.id)))
        case "sign_out_everywhere":
            record_sign_out(subject, browsers.sign_out(subject), SIGN_OUT_EVERYWHERE)
        case _:
            raise InvalidRequest(field="action", problem="this action is unknown")
    return visit.redirect("/signed-out", cookies=[clear_cookie(request, "session")])


def _allowed_by(visit: Visit, role: Role, modules: Iterable[ModuleEntry]) -> Sequence[AllowedModule]:
    """Return the same of one role: the tools that the person can use by it, were it the only one."""
    found: list[AllowedModule] = []
    for module in modules:
        own = [tool for tool in visit.permissions.tools(module) if role_permits(role, tool)]
        if own:
            found.append((module, Counter(tool.effect for tool in own)))
    return found


def client_lines(mcp_url: str) -> Sequence[tuple[str, str, str]]:
    """Return for each client its name, the key of the text that says where to paste, and the lines to paste."""
    inspector = f"npx @modelcontextprotocol/inspector --transport http --server-url {mcp_url}"
    return [
        ("Claude Code", "shell", f"claude mcp add --transport http mcpist {mcp_url}"),
        ("Claude Desktop, claude.ai", "connector", mcp_url),
        ("Codex", "shell", f"codex mcp add mcpist --url {mcp_url}"),
        ("Cursor", "cursor", json_text({"mcpServers": {"mcpist": {"url": mcp_url}}})),
        ("OpenCode", "opencode", json_text({"mcp": {"mcpist": {"type": "remote", "url": mcp_url}}})),
        ("VS Code", "vscode", json_text({"servers": {"mcpist": {"type": "http", "url": mcp_url}}})),
        ("Gemini CLI", "shell", f"gemini mcp add --transport http mcpist {mcp_url}"),
        ("mcp-remote", "command", f"npx -y mcp-remote {mcp_url}"),
        ("Inspector", "shell", inspector),
    ]


def _own_connections(visit: Visit) -> Sequence[tuple[Row, Row | None]]:
    """Return the broker's rows of the person's own accounts, each with the audit row of its latest use.

    Those of roles are listed on the page of each service.
    """
    accounts = sorted(BrokerAccounts(visit.caller).rows(f"user#{visit.caller.user}"), key=lambda row: row["services"])
    if not accounts:
        return []
    now = datetime.now(UTC)
    uses = newest_uses(visit.caller.organization, visit.caller.user, now - timedelta(days=USE_DAYS), now).rows
    return [(account, next((use for use in uses if _is_of(use, account)), None)) for account in accounts]


def _is_of(use: Row, account: Row) -> bool:
    return use["service"] in account["services"] and use["account"] == labelled(
        account["account_name"], account["label"]
    )
