"""Refreshing: an access token that ends is replaced once, whoever asks for it and however many do.

Who gets the grant's lease reads the grant again, asks the provider, and stores the new pair; who does not waits and
reads what the other stored. Everything but the table is ready before the provider is asked: between its answer and
the stored pair stands one conditional write. The old refresh token stays until that write. If its writer dies before
it, the next holder tries the stored token, once: either the provider still takes it, or it says that the grant is
dead, and then nobody asks again until the account is connected anew.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING

from pydantic import SecretStr

from mcpist.caller import Caller
from mcpist.errors import Conflict, McpistError, NotConfigured, StoreUnavailable, Timeout, TransientError
from mcpist.telemetry import audit
from mcpist.telemetry.invocation import count
from mcpist.telemetry.metrics import REFRESH_FAILURES, REFRESHES
from token_broker.grants import grants
from token_broker.grants.grant import Grant, Tokens
from token_broker.resolving import lease
from token_broker.resolving.lease import PACE, Lease, Pace, Watch
from token_broker.single_flight import Flights

if TYPE_CHECKING:
    from token_broker.providers import Provider
    from token_broker.providers.apps import App
    from token_broker.providers.oauth import Redeemed

# A waiter's pauses between its looks.
POLL_SECONDS = (0.05, 0.1, 0.15, 0.2)
LONGEST_POLL_SECONDS = 0.25
ANSWER_SECONDS = 8.0
# A pair that nobody else knows is worth more patience than anything.
STORE_PAUSES_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

type Flight = tuple[tuple[str, str], str, int]

_flights: Flights[Flight, Grant | None] = Flights()


@dataclass(frozen=True, slots=True)
class Occasion:
    """Who needs a token at which service, in which request: what the audit row says."""

    caller: Caller
    service: str
    request: str

    def note(self, event: audit.Event, grant: Grant, outcome: str) -> None:
        """One row; a lost one is counted, since the tokens are stored all the same."""
        with audit.afterwards():
            audit.note(
                organization=self.caller.organization,
                user=self.caller.user,
                roles=self.caller.role_names,
                event=event,
                service=self.service,
                account=grant.account.account_name,
                outcome=outcome,
                request=self.request,
            )


def renewed(grant: Grant, occasion: Occasion, *, refused: bool = False, pace: Pace = PACE) -> Grant | None:
    """The grant with a newer access token, or dead; None if it does not stand there any more.

    As long as the present token lives, and no service has `refused` it, a provider's trouble or ours is no error.
    """
    try:
        return _flights.share((grant.key, grant.id, grant.version), lambda: _renew(grant, occasion, pace))
    except (TransientError, NotConfigured):
        if refused or grant.expired:
            raise
        return grant


def _renew(grant: Grant, occasion: Occasion, pace: Pace) -> Grant | None:
    """Get the lease, or wait for what its holder stores."""
    from token_broker import providers
    from token_broker.providers import apps

    provider, app = providers.find(grant.provider), apps.app_of(grant.provider)
    watch, until = Watch(pace), time.monotonic() + pace.wait
    for pause in chain(POLL_SECONDS, repeat(LONGEST_POLL_SECONDS)):
        now, standing = lease.look(grant)
        if not _is_same(now, grant):
            return now
        _check_app(app, grant)
        standing.check(grant)
        if watch.is_free(standing) and (held := lease.acquire(grant, standing, pace)):
            with held, _counting_failure():
                return _redeem(held, grant, provider, app, occasion)
        if time.monotonic() > until:
            break
        time.sleep(pause)
    raise Timeout(service=grant.provider, seconds=pace.wait)


def _check_app(app: "App", grant: Grant) -> None:
    """Whether our app is still the one that the tokens were given to: to another, the provider says that they are dead.

    An operator who named the wrong one must be able to name the right one again.
    """
    if app.client_id != grant.account.client_id:
        problem = "this account was connected with another app: name that one again, or connect the account anew"
        raise NotConfigured(service=grant.provider, problem=problem)


def _redeem(held: Lease, grant: Grant, provider: "Provider", app: "App", occasion: Occasion) -> Grant | None:
    """Inside the lease: the grant as it stands, its token redeemed, and the new pair stored."""
    from token_broker.providers import oauth

    now = grants.read(grant.organization, grant.provider, grant.owner)
    if now is None or not _is_same(now, grant):
        return now
    old = now.open("refresh_token")
    seals = grants.draw(now.organization, now.provider, now.owner, now.version + 1)
    if not held.may_send:
        raise StoreUnavailable(store="grants")
    try:
        won = oauth.refresh(provider, app, old, seconds=ANSWER_SECONDS)
    except oauth.GrantDead as dead:
        return _bury(now, dead.code, occasion)
    except McpistError as error:
        held.fail(error)
        occasion.note("failure", now, error.code)
        raise
    try:
        renewed = _store(now, seals, won, old)
    except Conflict:
        return _overtaken(now, won, provider, app, occasion)
    count(REFRESHES)
    occasion.note("refresh", renewed, "succeeded")
    return renewed


def _store(grant: Grant, seals: grants.Seals, won: "Redeemed", old: SecretStr) -> Grant:
    """Keep the new pair, however long the table lets us wait: also without the lease, as compare and set."""
    tokens = Tokens(won.tokens.access_token, won.tokens.refresh_token or old)
    for pause in (*STORE_PAUSES_SECONDS, None):
        try:
            return grants.renew(grant, seals, tokens, expires_at=won.expires_at, lives=won.lives, scopes=won.scopes)
        except StoreUnavailable:
            if pause is None:
                raise
            time.sleep(pause)
    raise AssertionError("unreachable")


def _overtaken(grant: Grant, won: "Redeemed", provider: "Provider", app: "App", occasion: Occasion) -> Grant | None:
    """What stands instead of the version that was redeemed; a pair that nobody wants any more is revoked.

    Where a grant stands on the same account, be it this one in a version that another holder stored, our pair may be
    of its family, and some providers end all of an account's tokens with one of them. An unknown account may be any.
    """
    from token_broker.providers import oauth

    standing = grants.standing_on(grant.organization, grant.provider, grant.account)
    if not any(one.owner == grant.owner or not provider.revokes_one for one in standing):
        occasion.note("revoke", grant, oauth.revoke(provider, app, won.tokens))
    return grants.read(grant.organization, grant.provider, grant.owner)


def _bury(grant: Grant, code: str, occasion: Occasion) -> Grant | None:
    """Mark the version as dead; if another one stands there by now, that one counts."""
    try:
        dead = grants.mark_dead(grant, code)
    except Conflict:
        return grants.read(grant.organization, grant.provider, grant.owner)
    count(REFRESH_FAILURES)
    occasion.note("failure", dead, code)
    return dead


@contextmanager
def _counting_failure() -> Iterator[None]:
    try:
        yield
    except McpistError:
        count(REFRESH_FAILURES)
        raise


def _is_same(now: Grant | None, before: Grant) -> bool:
    """Whether a version still stands, and the provider may be asked for its next one."""
    return now is not None and (now.id, now.version) == (before.id, before.version) and now.dead is None
