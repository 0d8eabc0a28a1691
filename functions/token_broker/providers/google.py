"""Google: refresh tokens do not rotate, and come only with a first consent, hence `prompt=consent`.

Revoking a token ends the whole grant of the person to the app, so all connections of the same account.
Reference: https://developers.google.com/identity/protocols/oauth2/web-server
"""

from collections.abc import Iterable
from typing import Any

from token_broker.grants.grant import Tokens
from token_broker.providers.apps import App
from token_broker.providers.provider import Linked, Provider, named
from token_broker.providers.wire import Asked


def _account(body: Any) -> Linked | None:
    """The person's own calendar bears their address."""
    return Linked(named(body["id"]), named(body.get("summary")) or named(body["id"]))


def _revoking(provider: Provider, _: App, tokens: Tokens) -> Iterable[Asked]:
    token = tokens.refresh_token or tokens.access_token
    yield Asked("POST", provider.revoke_url, form={"token": token.get_secret_value()})


PROVIDER = Provider(
    name="google",
    asks={
        "google_calendar": (
            "https://www.googleapis.com/auth/calendar.readonly",
            "https://www.googleapis.com/auth/calendar.events",
        ),
    },
    authorize_url="https://accounts.google.com/o/oauth2/v2/auth",
    params={"access_type": "offline", "prompt": "consent"},
    token_url="https://oauth2.googleapis.com/token",  # noqa: S106 - an address
    account_url="https://www.googleapis.com/calendar/v3/calendars/primary",
    knows=_account,
    revoke_url="https://oauth2.googleapis.com/revoke",
    revoking=_revoking,
)
