"""Refresh: an expiring access token is replaced once, however many callers need it.

The holder of the grant's lease reads the grant again, redeems its refresh token, and stores the new pair; the others
wait and read the stored pair. All preparation happens before the request to the provider: only one conditional write
lies between its response and the stored pair. Until that write the old refresh token stays. If the sandbox dies before
it, the next holder tries the stored token once: either the provider still accepts it, or it rejects the grant for ever,
and then no sandbox asks again until the person reconnects the account.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING

from mcpist.audit import record as audit
from mcpist.caller import Caller
from mcpist.errors import Conflict, McpistError, NotConfigured, StoreUnavailable, Timeout, TransientError
from mcpist.telemetry import invocation
from mcpist.telemetry.metrics import REFRESH_FAILURES, REFRESHES
from token_broker.grants import grants
from token_broker.grants.grant import StoredGrant
from token_broker.resolving import lease
from token_broker.resolving.lease import DEFAULT_LEASE_TIMING, Lease, LeaseTiming, LeaseWatch
from token_broker.vault import SingleFlight

if TYPE_CHECKING:
    from mcpist.audit.rows import AuditColumns
    from mcpist.oauth.provider import App, Provider
    from token_broker.providers.oauth import TokenResponse

# A waiter's pauses between its reads.
LEASE_POLL_SECONDS = (0.05, 0.1, 0.15, 0.2)
MAX_LEASE_POLL_SECONDS = 0.25
GRANT_REFRESH_TIMEOUT_SECONDS = 8.0
# A new pair exists only in this sandbox until it is stored, so storing it is retried for longer than anything else.
STORE_RETRY_DELAYS_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)

type RefreshKey = tuple[tuple[str, str], str, int]

_single_flight: SingleFlight[RefreshKey, StoredGrant | None] = SingleFlight()


@dataclass(frozen=True, slots=True)
class AuditContext:
    """The caller and service of an audit row; its request is the one that is being answered."""

    caller: Caller
    service: str

    def record(self, event: audit.Event, account: str, outcome: str) -> None:
        """Write one row about an account; a failure is only counted, since the event has already happened."""
        with audit.best_effort():
            columns: AuditColumns = {"account": account, "outcome": outcome, "request": invocation.request_id()}
            audit.record_account(self.caller, event, self.service, **columns)


def refresh_grant(
    grant: StoredGrant, audit_context: AuditContext, *, refused: bool = False, pace: LeaseTiming = DEFAULT_LEASE_TIMING
) -> StoredGrant | None:
    """Return the grant with a newer access token, or rejected; None if it no longer exists.

    A failure is no error while the current access token is valid and no service has `refused` it.
    """
    try:
        return _single_flight.run(
            (grant.key, grant.id, grant.version), lambda: _refresh_with_lease(grant, audit_context, pace)
        )
    except (TransientError, NotConfigured):
        if refused or grant.is_expired:
            raise
        return grant


def _refresh_with_lease(grant: StoredGrant, audit_context: AuditContext, pace: LeaseTiming) -> StoredGrant | None:
    """Take the lease, or wait until its holder has stored the new pair."""
    from token_broker import providers

    provider, app = providers.find_with_app(grant.provider, audit_context.caller)
    watch, until = LeaseWatch(pace), time.monotonic() + pace.wait
    for pause in chain(LEASE_POLL_SECONDS, repeat(MAX_LEASE_POLL_SECONDS)):
        current, state = lease.read_with_grant(grant)
        if not _is_unchanged(current, grant):
            return current
        _check_app(app, grant)
        state.raise_if_backing_off(grant)
        if watch.is_free(state) and (held := lease.acquire(grant, state, pace)):
            with held, _counting_failure():
                return _refresh_under_lease(held, grant, provider, app, audit_context)
        if time.monotonic() > until:
            break
        time.sleep(pause)
    raise Timeout(service=grant.provider, seconds=pace.wait)


def _check_app(app: "App", grant: StoredGrant) -> None:
    """Raise NotConfigured if the tokens were issued to another app: to this one the provider would call them dead.

    So an operator who configured the wrong app can configure the right one again.
    """
    if app.identity != grant.account.client_id:
        problem = "this account was connected with another app: configure that app again, or reconnect the account"
        raise NotConfigured(service=grant.provider, problem=problem)


def _refresh_under_lease(
    held: Lease, grant: StoredGrant, provider: "Provider", app: "App", audit_context: AuditContext
) -> StoredGrant | None:
    """Read the grant under the lease, redeem its refresh token, and store the new pair."""
    from token_broker.providers import oauth

    current = grants.read(grant.organization, grant.provider, grant.slot)
    if current is None or not _is_unchanged(current, grant):
        return current
    old = current.unseal_token("refresh_token")
    data_keys = grants.generate_data_keys(current.organization, current.provider, current.slot, current.version + 1)
    if not held.may_send:
        raise StoreUnavailable(store="grants")
    try:
        token_response = oauth.refresh(provider, app, old, seconds=GRANT_REFRESH_TIMEOUT_SECONDS)
    except oauth.GrantRejected as rejected:
        return _mark_rejected(current, rejected.code, audit_context)
    except McpistError as error:
        held.record_failure(error)
        audit_context.record("failure", current.name, error.code)
        raise
    try:
        refreshed = _store(current, data_keys, token_response)
    except Conflict:
        return _resolve_conflict(current, token_response, provider, app, audit_context)
    invocation.count(REFRESHES)
    audit_context.record("refresh", refreshed.name, "succeeded")
    return refreshed


def _store(grant: StoredGrant, data_keys: grants.DataKeys, token_response: "TokenResponse") -> StoredGrant:
    """Store the new pair with retries, even without the lease: the write compares the version."""
    for pause in (*STORE_RETRY_DELAYS_SECONDS, None):
        try:
            return grants.store_refreshed(
                grant,
                data_keys,
                token_response.tokens,
                expires_at=token_response.expires_at,
                lives=token_response.lives,
                scopes=token_response.scopes,
            )
        except StoreUnavailable:
            if pause is None:
                raise
            time.sleep(pause)
    raise AssertionError("unreachable")


def _resolve_conflict(
    grant: StoredGrant, token_response: "TokenResponse", provider: "Provider", app: "App", audit_context: AuditContext
) -> StoredGrant | None:
    """Return the grant that replaced the redeemed version, and revoke our pair if no grant may depend on it.

    Another grant of the same account, also a newer version of this one, may depend on our pair: some providers end all
    tokens of an account with one of them. An unknown account may be any.
    """
    from token_broker.providers import oauth

    existing = grants.find_by_account(grant.organization, grant.provider, grant.account)
    if not any(other.slot == grant.slot or not provider.revokes_single_token for other in existing):
        revocation = oauth.revoke(provider, app, token_response.tokens)
        audit_context.record("revoke", grant.name, revocation)
    return grants.read(grant.organization, grant.provider, grant.slot)


def _mark_rejected(grant: StoredGrant, code: str, audit_context: AuditContext) -> StoredGrant | None:
    """Mark the version as rejected; if another version was stored meanwhile, return that one."""
    try:
        rejected = grants.mark_rejected(grant, code)
    except Conflict:
        return grants.read(grant.organization, grant.provider, grant.slot)
    invocation.count(REFRESH_FAILURES)
    audit_context.record("failure", rejected.name, code)
    return rejected


@contextmanager
def _counting_failure() -> Iterator[None]:
    try:
        yield
    except McpistError:
        invocation.count(REFRESH_FAILURES)
        raise


def _is_unchanged(current: StoredGrant | None, before: StoredGrant) -> bool:
    """Whether a version is still stored and not rejected, so that it may be refreshed."""
    return (
        current is not None
        and (current.id, current.version) == (before.id, before.version)
        and current.rejection is None
    )
