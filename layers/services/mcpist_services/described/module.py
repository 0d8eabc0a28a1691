"""Module: an overlay as one module of the catalogue."""

from mcpist.errors import InvalidRequest
from mcpist.oauth.app import check_public_url
from mcpist.tools.credential import CredentialPlacement
from mcpist.tools.module import Module
from mcpist.tools.tool import ModuleMetadata
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.tool import described_tool


def module(overlay: Overlay, *, loopback: bool | None = None) -> Module:
    """Return the module of an overlay; InvalidRequest for a host that this deployment must not send to.

    `loopback` says whether it may be an address of this machine; only a local deployment's may, where it is None.
    """
    try:
        check_public_url(overlay.host, loopback=loopback)
    except ValueError as error:
        raise InvalidRequest(field=f"{overlay.name}.host", problem=str(error)) from None
    security = overlay.security
    placed = "bearer" if security.kind == "none" else security.kind
    found = Module(
        overlay.name,
        overlay.description,
        api_version=overlay.version,
        host=overlay.host,
        needs_account=security.kind != "none",
        kind="api",
        credential=CredentialPlacement(placed, security.parameter, security.prefix),
        category=overlay.category,
        author=overlay.title,
        tags=overlay.tags,
    )
    about = ModuleMetadata(**found.about)
    for name, rule in overlay.tools.items():
        found.tools[name] = described_tool(overlay, name, about)
        found.scopes_by_tool[name] = rule.scopes
    return found
