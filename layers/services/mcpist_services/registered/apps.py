"""Apps of registered modules: the organization's own OAuth clients, which the token broker keeps."""

from typing import Any

from mcpist.audit.record import record_change
from mcpist.errors import InvalidRequest
from mcpist.oauth.module_app import ModuleAppRequest
from mcpist.people.administration import Administration
from mcpist.registry import definitions
from mcpist.running import broker
from mcpist_services.registered.registration import find


def get_app(administration: Administration, name: str) -> dict[str, Any] | None:
    """Return the app of a registered module without its secret; None where people paste keys."""
    with administration.permitted("modules.app", f"modules.{name}", event="look"):
        module = find(administration.read()[1], name)
        if not module.destination:
            return None
        found: dict[str, Any] | None = broker.administer(administration.caller, "show_app", service=name)["app"]
        return found


def set_app(administration: Administration, name: str, request: ModuleAppRequest) -> dict[str, Any]:
    """Set the app of a registered module, and return it without its secret.

    What the request leaves out comes from the module's description, else from its server's own metadata.
    """
    target = f"modules.{name}"
    with administration.permitted("modules.app", target):
        fields = _described(administration, name) | request.fields()
        app: dict[str, Any] = broker.administer(administration.caller, "set_app", service=name, app=fields)["app"]
        _record(administration, target, {key: str(app[key]) for key in ("client_id", "token_url", "destination")})
        return app


def remove_app(administration: Administration, name: str) -> None:
    """Remove the app of a registered module, and revoke the accounts that people have connected for it."""
    target = f"modules.{name}"
    with administration.permitted("modules.app", target):
        find(administration.read()[1], name)
        administration.accounts.revoke_service(name)
        _record(administration, target, {})


def _described(administration: Administration, name: str) -> dict[str, Any]:
    """Return the OAuth server of a module's description; nothing for an MCP server, which is asked itself."""
    module = find(administration.read()[1], name)
    definition = definitions.load(administration.caller.organization, module.sha256)
    if "overlay" not in definition:
        return {}
    from mcpist_services.described.overlay import load_overlay

    overlay = load_overlay(definition["overlay"])
    security, scopes = overlay.security, overlay.account.scopes
    if security.kind != "bearer":
        raise InvalidRequest(field="name", problem="it takes keys, and no tokens of a consent")
    oauth = security.oauth
    if oauth is None:
        return {"scopes": list(scopes)} if scopes else {}
    all_scopes = list(dict.fromkeys([*scopes, *oauth.scopes]))
    return oauth.model_dump(include={"authorize_url", "token_url", "client_auth"}) | {"scopes": all_scopes}


def _record(administration: Administration, target: str, after: dict[str, str]) -> None:
    caller, request = administration.caller, administration.request
    record_change(caller, action="modules.app", target=target, request=request, before={}, after=after)
