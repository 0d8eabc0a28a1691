"""Microsoft: work and private accounts, `common` or those of one tenant; the old refresh token stays valid.

A single grant cannot be revoked by a request: the person removes the app in their account's settings.
Reference: https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow
"""

from typing import Any

from mcpist.oauth.provider import INVALID_GRANT_ERRORS, Consent, Provider, ProviderAccount, printable


def _parse_account(body: Any) -> ProviderAccount | None:
    name = printable(body.get("userPrincipalName")) or printable(body.get("displayName"))
    return ProviderAccount(printable(body["id"]), name)


MICROSOFT = Provider(
    name="microsoft",
    title="Microsoft",
    extra_scopes=("offline_access",),
    authorize_url="https://login.microsoftonline.com/{tenant}/oauth2/v2.0/authorize",
    token_url="https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",  # noqa: S106 - an address
    # interaction_required: only the person can continue, in a browser (a second factor, a policy of the organization).
    permanent_errors=INVALID_GRANT_ERRORS | {"interaction_required"},
    account_url="https://graph.microsoft.com/v1.0/me",
    parse_account=_parse_account,
)

CONSENT = Consent(MICROSOFT, scopes=("Tasks.ReadWrite", "User.Read"))
