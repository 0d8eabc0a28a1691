"""Module: an overlay as one module of the catalogue, and how its accounts are connected."""

import re

from mcpist.errors import InvalidRequest
from mcpist.oauth.app import check_public_url
from mcpist.oauth.provider import Consent, Provider, ProviderAccount
from mcpist.tools.credential import CredentialPlacement
from mcpist.tools.module import Module
from mcpist.tools.tool import ModuleMetadata
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.tool import described_tool

# What can stand in a header, or be the password of a user: no form of a key is known.
KEY_PATTERN = re.compile(r"[ -~]{8,4096}")


def module(overlay: Overlay) -> Module:
    """Return the module of an overlay; InvalidRequest for a host that this deployment must not send to."""
    try:
        check_public_url(overlay.host)
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


def consent(overlay: Overlay) -> Consent | None:
    """Return how accounts of an imported API are connected; None where it needs none.

    People paste a key. Where the overlay names an OAuth server and an administrator registered our client there,
    they can consent instead.
    """
    security = overlay.security
    if security.kind == "none":
        return None
    oauth = security.oauth
    scopes = dict.fromkeys(scope for rule in overlay.tools.values() for scope in rule.scopes)
    provider = Provider(
        name=overlay.name,
        title=overlay.title,
        authorize_url=oauth.authorize_url if oauth else "",
        token_url=oauth.token_url if oauth else "",
        client_auth=oauth.client_auth if oauth else "body",
        pkce=oauth.pkce if oauth else True,
        account_url="",
        parse_account=_no_account,
        extra_scopes=oauth.scopes if oauth else (),
        key_pattern=KEY_PATTERN,
        key_page=security.key_page,
    )
    return Consent(provider, scopes=tuple(scopes) if oauth else ())


def _no_account(_: object) -> ProviderAccount | None:
    return None
