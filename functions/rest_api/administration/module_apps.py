"""The apps by which people connect accounts of registered modules; REST shows no secret of them."""

from typing import Annotated

from pydantic import Field

from mcpist.oauth.module_app import ModuleAppRequest
from mcpist_services.registered import apps
from rest_api.administration.changes import administration
from rest_api.router import Body, Operations

router = Operations("modules")


class ModuleAppView(Body):
    """An app without its secret; its fields are empty where there is none."""

    client_id: Annotated[str, Field(description="Empty: there is no app, and people paste keys")] = ""
    authorize_url: str = ""
    token_url: str = ""
    revoke_url: str = ""
    issuer: str = ""
    resource: Annotated[str, Field(description="The resource that tokens are requested for")] = ""
    scopes: list[str] = []
    client_auth: str = ""
    destination: Annotated[str, Field(description="Where tokens are sent, and how")] = ""


@router.operation("GET", "/v1/modules/<name>/app", "Show the app of a module")
def get_module_app(name: str) -> ModuleAppView:
    """Show the organization's own app for a registered module."""
    return ModuleAppView(**(apps.get_app(administration(), name) or {}))


@router.operation("PUT", "/v1/modules/<name>/app", "Set the app of a module")
def set_module_app(name: str, body: ModuleAppRequest) -> ModuleAppView:
    """Let people connect their accounts of a registered module by consent.

    What is left out comes from the API's description, else from what the server says of itself (RFC 9728, RFC 8414):
    an empty body makes MCPist known to a server that supports that. Secret and scopes can be replaced; a client or
    addresses that differ need the removal of the former app first.
    """
    return ModuleAppView(**apps.set_app(administration(), name, body))


@router.operation("DELETE", "/v1/modules/<name>/app", "Remove the app of a module")
def delete_module_app(name: str) -> ModuleAppView:
    """Remove the app of a registered module, and revoke the accounts that people connected for the module."""
    apps.remove_app(administration(), name)
    return ModuleAppView()
