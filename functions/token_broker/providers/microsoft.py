"""Microsoft: work and private accounts, `common` or those of one tenant; the old refresh token stays valid.

There is no address to revoke a single grant at: the person removes the app under their account.
Reference: https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-auth-code-flow
"""

from typing import Any

from token_broker.providers.provider import INVALID_GRANT_ERRORS, Provider, ProviderAccount, printable


def _parse_account(body: Any) -> ProviderAccount | None:
    return ProviderAccount(
        printable(body["id"]), printable(body.get("userPrincipalName")) or printable(body.get("displayName"))
    )


PROVIDER = Provider(
    name="microsoft",
    scopes_by_service={"microsoft_todo": ("Tasks.ReadWrite", "User.Read")},
    extra_scopes=("offline_access",),
    authorize_url="https://login.microsoftonline.com/{tenant}/oauth2/v2.0/authorize",
    token_url="https://login.microsoftonline.com/{tenant}/oauth2/v2.0/token",  # noqa: S106 - an address
    # The second: only the person, in a browser, can go on (a second factor, a policy of their organization).
    permanent_errors=INVALID_GRANT_ERRORS | {"interaction_required"},
    account_url="https://graph.microsoft.com/v1.0/me",
    parse_account=_parse_account,
)
