"""Module apps in the table of grants.

Items (`pk`, `sk`): `#apps#ACME` and the name of a module; no organization's grants have this `pk`. A secret opens only
beside the addresses with which it was stored.
"""

import time

from pydantic import SecretStr

from mcpist.caller import Caller, RegisteredModule
from mcpist.oauth.module_app import ModuleApp
from token_broker import vault
from token_broker.grants import grants
from token_broker.grants.grant import key_part


def registered(caller: Caller, name: str) -> RegisteredModule | None:
    """Return a module that the caller's organization registered and that takes accounts."""
    return next((one for one in caller.modules if one.name == name and one.destination), None)


def find(organization: str, module: RegisteredModule) -> ModuleApp | None:
    """Return the app of a module; None where there is none, or it was set for another destination."""
    item = grants.table().get(_partition(organization), key_part(module.name))
    app = ModuleApp.model_validate_json(item["app"]) if item else None
    if item is None or app is None or app.destination != module.destination:
        return None
    if "secret" not in item:
        return app
    secret = vault.unseal(item["secret"], _place(organization, module.name, app))
    return app.model_copy(update={"client_secret": secret})


def store(organization: str, name: str, app: ModuleApp) -> None:
    """Store the app of a module in the place of another."""
    secret: SecretStr | None = app.client_secret
    sealed = {"secret": vault.seal(secret, _place(organization, name, app))} if secret else {}
    content = app.model_dump_json(exclude={"client_secret"})
    item = {"pk": _partition(organization), "sk": key_part(name), "app": content, "updated_at": int(time.time())}
    grants.table().put(item | sealed)


def remove(organization: str, name: str) -> bool:
    """Remove the app of a module, and return whether there was one."""
    return grants.table().delete(_partition(organization), key_part(name))


def _place(organization: str, name: str, app: ModuleApp) -> vault.SecretPlace:
    field = f"client_secret of {app.identity}"
    return vault.SecretPlace(organization=organization, owner="app", service=name, field=field, version=1)


def _partition(organization: str) -> str:
    return f"#apps#{key_part(organization)}"
