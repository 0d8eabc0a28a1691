"""Apps of modules, as an organization's administrators set and remove them."""

from dataclasses import replace
from typing import Any

from mcpist.caller import Caller, RegisteredModule
from mcpist.errors import AlreadyExists, AuthorizationError, InvalidRequest, NotConfigured
from mcpist.oauth.module_app import ModuleApp
from mcpist.people import directory
from mcpist.settings import settings
from mcpist.validation import parse_model
from token_broker.message import RemoveApp, SetApp, ShowApp
from token_broker.providers import discovery, find, module_apps


def set_app(caller: Caller, message: SetApp) -> dict[str, Any]:
    """Store the app of a module, whatever its server says of itself included, and return it without its secret.

    AlreadyExists where tokens of another client, or of other addresses, may be in use: it must be removed first.
    """
    caller = _administrator(caller, message.service)
    module = _module(caller, message.service)
    find(module.name, caller)  # raises where the operator has an app of this name
    if not settings().public_url:
        raise NotConfigured(service=module.name, problem="the parameter PublicUrl is not set")
    earlier, asked = module_apps.find(caller.organization, module), message.app
    if earlier and asked.is_of(earlier):
        fields = earlier.model_dump() | asked.fields()
    elif asked.authorize_url:
        fields = asked.fields()
        if not asked.client_id:
            raise InvalidRequest(field="client_id", problem="Field required beside addresses")
    else:
        server, _, _ = module.destination.partition(" ")
        fields = discovery.discover(module.name, server, asked)
    app = parse_model(ModuleApp, {**fields, "destination": module.destination})
    if earlier and earlier.identity != app.identity:
        raise AlreadyExists(kind="app, with another client or other addresses, of", name=module.name)
    module_apps.store(caller.organization, module.name, app)
    return {"app": app.view()}


def show_app(caller: Caller, message: ShowApp) -> dict[str, Any]:
    """Return `{app}`: that of a module without its secret, or None."""
    module = _module(_administrator(caller, message.service), message.service)
    app = module_apps.find(caller.organization, module)
    return {"app": app and app.view()}


def remove_app(caller: Caller, message: RemoveApp) -> dict[str, Any]:
    """Return `{removed}`: whether a module had an app; its accounts are refreshed no more."""
    _administrator(caller, message.service)
    return {"removed": module_apps.remove(caller.organization, message.service)}


def _administrator(caller: Caller, name: str) -> Caller:
    """Return an administrator with the modules as they are now: one may have been registered a moment ago."""
    if caller.system_role != "admin":
        raise AuthorizationError(name=f"the app of {name}")
    organization = directory.find(caller.organization)
    return replace(caller, modules=tuple(organization.modules.values()) if organization else ())


def _module(caller: Caller, name: str) -> RegisteredModule:
    module = module_apps.registered(caller, name)
    if module is None:
        raise InvalidRequest(field="name", problem="it is no registered module that takes accounts")
    return module
