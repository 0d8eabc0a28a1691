"""Google: a refresh token does not rotate and is issued only at a first consent, hence `prompt=consent`.

Revoking a token ends all that the person granted to the app, so every connection of the same account.
Reference: https://developers.google.com/identity/protocols/oauth2/web-server
"""

from collections.abc import Iterable
from typing import Any

from mcpist.oauth.provider import App, Consent, Provider, ProviderAccount, ProviderRequest, Tokens, printable


def _parse_account(body: Any) -> ProviderAccount | None:
    """Read the primary calendar: its id is the person's e-mail address."""
    return ProviderAccount(printable(body["id"]), printable(body.get("summary")) or printable(body["id"]))


def _revocation_requests(provider: Provider, _: App, tokens: Tokens) -> Iterable[ProviderRequest]:
    token = tokens.refresh_token or tokens.access_token
    yield ProviderRequest("POST", provider.revoke_url, form={"token": token.get_secret_value()})


GOOGLE = Provider(
    name="google",
    title="Google",
    authorize_url="https://accounts.google.com/o/oauth2/v2/auth",
    authorize_params={"access_type": "offline", "prompt": "consent"},
    token_url="https://oauth2.googleapis.com/token",  # noqa: S106 - an address
    account_url="https://www.googleapis.com/calendar/v3/calendars/primary",
    parse_account=_parse_account,
    revoke_url="https://oauth2.googleapis.com/revoke",
    revocation_requests=_revocation_requests,
)

CONSENT = Consent(
    GOOGLE,
    scopes=("https://www.googleapis.com/auth/calendar.readonly", "https://www.googleapis.com/auth/calendar.events"),
)
