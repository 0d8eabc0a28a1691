"""Google: refresh tokens do not rotate, and come only with a first consent, hence `prompt=consent`.

Revoking a token ends the whole grant of the person to the app, so all connections of the same account.
Reference: https://developers.google.com/identity/protocols/oauth2/web-server
"""

from collections.abc import Iterable
from typing import Any

from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App
from token_broker.providers.http_client import ProviderRequest
from token_broker.providers.provider import Provider, ProviderAccount, printable


def _parse_account(body: Any) -> ProviderAccount | None:
    """The person's own calendar bears their address."""
    return ProviderAccount(printable(body["id"]), printable(body.get("summary")) or printable(body["id"]))


def _revocation_requests(provider: Provider, _: App, tokens: Tokens) -> Iterable[ProviderRequest]:
    token = tokens.refresh_token or tokens.access_token
    yield ProviderRequest("POST", provider.revoke_url, form={"token": token.get_secret_value()})


PROVIDER = Provider(
    name="google",
    scopes_by_service={
        "google_calendar": (
            "https://www.googleapis.com/auth/calendar.readonly",
            "https://www.googleapis.com/auth/calendar.events",
        ),
    },
    authorize_url="https://accounts.google.com/o/oauth2/v2/auth",
    authorize_params={"access_type": "offline", "prompt": "consent"},
    token_url="https://oauth2.googleapis.com/token",  # noqa: S106 - an address
    account_url="https://www.googleapis.com/calendar/v3/calendars/primary",
    parse_account=_parse_account,
    revoke_url="https://oauth2.googleapis.com/revoke",
    revocation_requests=_revocation_requests,
)
