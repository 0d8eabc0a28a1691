"""Authentication: from a message's proof to the Caller; nothing else in a message identifies the caller.

A proof is an access token, or what the broker sealed itself: the session of a browser, the warrant of a batch, or the
permit of what acts while its person is away, which also ends once its item in the table is deleted. These
open only as the kind and for the organization that they were sealed for; the directory decides at each use who their
user is now. A session ends when it was not used for an hour, after twelve hours at the latest, and at once where its
browser is signed out in the directory.
"""

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, SecretStr

from mcpist.audit import record as audit
from mcpist.caller import Caller, ClientInfo, Subject
from mcpist.errors import (
    AcceptanceRequired,
    AuthenticationError,
    AuthorizationError,
    IntegrityError,
    MembershipRequired,
)
from mcpist.people import browsers, directory
from mcpist.people.directory import identify, in_roles
from mcpist.people.identity import verify_token
from mcpist.settings import settings
from token_broker import vault
from token_broker.grants import permits
from token_broker.message import Login, ProvenMessage, Resolve

MAX_WARRANT_SECONDS = 3600
IDLE_SECONDS = 3600
MAX_SESSION_SECONDS = 12 * 3600
ID_BYTES = 24
PERMIT_SECONDS = 365 * 86_400
PERMIT_ID_BYTES = 12


def authenticate(message: ProvenMessage) -> Caller:
    """Return the caller with the roles that the message names, each of which the directory must know.

    A person's message about their own accounts may name none: then all roles count.
    """
    sealed, value = _SEALED.get(message.proof.kind), message.proof.value
    caller = sealed.open(value, message.organization).redeem(message) if sealed else _caller_from_jwt(message)
    if message.client:
        sent = message.client
        # The id of the token itself, where it has one: what the sender says of its program nobody has proved.
        caller = replace(caller, client=ClientInfo(sent.name, sent.version, caller.client.id or sent.id))
    return caller if message.roles is None else in_roles(caller, message.roles)


def _caller_from_jwt(message: ProvenMessage) -> Caller:
    if message.proof.kind != "jwt":
        raise AuthenticationError(problem="this needs the user's own access token")
    token = verify_token(message.proof.value.get_secret_value(), _audience())
    client = ClientInfo(id=token.client_id)
    try:
        caller = identify(token.subject, organization=message.organization, within=token.organizations)
        return replace(caller, client=client)
    except MembershipRequired as error:
        # A person who has yet to accept was not refused: the page that asks them follows.
        if isinstance(message, Login) and not isinstance(error, AcceptanceRequired):
            record_refused_login(token.subject, message.organization, client, error)
        raise


def _audience() -> str:
    if not settings().audience:
        raise AuthenticationError(problem="no audience is configured: set Audience or PublicUrl")
    return settings().audience


class SealedToken(BaseModel):
    """A user of an organization, until `expires_at` (epoch seconds).

    A newer release may have sealed it, so unknown fields are ignored: a batch outlives a rollback.

    Each kind has a name, a verb for its end, and a place: no grant has that owner or field, so neither opens as the
    other.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)
    name: ClassVar[str]
    expired_verb: ClassVar[str]
    place: ClassVar[tuple[str, str]]

    organization: str
    user: str
    issuer: str
    sub: str
    expires_at: int

    @classmethod
    def for_caller(cls, caller: Caller, **more: Any) -> Self:
        """Return a token of a caller, with the further fields of its kind."""
        subject = caller.subject
        return cls(organization=caller.organization, user=caller.user, issuer=subject.issuer, sub=subject.sub, **more)

    @classmethod
    def open(cls, value: SecretStr, organization: str) -> Self:
        """Return the token that was sealed as this kind; AuthenticationError for an expired one or any other value."""
        try:
            sealed = base64.b64decode(value.get_secret_value(), altchars=b"-_", validate=True)
            opened = vault.unseal_proof(sealed, cls._place(organization))
            token = cls.model_validate_json(opened.get_secret_value())
        except (ValueError, IntegrityError):  # also for one of a release that had other fields
            raise AuthenticationError(problem=f"{cls.name} cannot be opened") from None
        if token.expires_at <= time.time():
            raise AuthenticationError(problem=f"{cls.name} has {cls.expired_verb}")
        return token

    def seal(self) -> str:
        """Return the token as text for its holder."""
        sealed = vault.seal(SecretStr(self.model_dump_json()), self._place(self.organization))
        return base64.urlsafe_b64encode(sealed).decode()

    def redeem(self, message: ProvenMessage) -> Caller:
        """Return the user as the directory knows it now, if the token permits the message."""
        del message  # which only some kinds look at
        return self.caller()

    def caller(self) -> Caller:
        """Return the user as the directory knows it now."""
        caller = identify(Subject(self.issuer, self.sub), organization=self.organization)
        if caller.user != self.user:
            raise AuthenticationError(problem=f"{self.name} is another user's")
        return caller

    @classmethod
    def _place(cls, organization: str) -> vault.SecretPlace:
        owner, field = cls.place
        return vault.SecretPlace(organization=organization, owner=owner, service="any", field=field, version=1)


class Warrant(SealedToken):
    """A sealed permission: the roles and services that a batch may resolve."""

    name = "the batch's warrant"
    expired_verb = "expired"
    place = ("batch", "warrant")

    roles: tuple[str, ...]
    services: tuple[str, ...]

    def redeem(self, message: ProvenMessage) -> Caller:
        """Return the user; AuthorizationError for a role or a service that it does not have."""
        services = [message.service] if isinstance(message, Resolve) else getattr(message, "services", ())
        for service in services:
            if service not in self.services:
                raise AuthorizationError(name=service)
        for role in message.roles or ():
            if role not in self.roles:
                raise AuthorizationError(name=f"role {role}")
        return self.caller()


def issue_warrant(caller: Caller, services: Sequence[str], expires_at: int) -> dict[str, Any]:
    """Return `{warrant, expires_at}`; it is valid until then, but for MAX_WARRANT_SECONDS at most."""
    end = min(expires_at, int(time.time()) + MAX_WARRANT_SECONDS)
    warrant = Warrant.for_caller(caller, roles=caller.role_names, services=tuple(services), expires_at=end)
    return {"warrant": warrant.seal(), "expires_at": end}


class Permit(Warrant):
    """A sealed permission that stands until it is ended: the roles and services that may be resolved with it."""

    name = "the standing permission"
    place = ("permit", "permit")

    id: str
    """The id of its item in the table."""

    def redeem(self, message: ProvenMessage) -> Caller:
        """Return the user, as long as nobody has ended the permission."""
        caller = super().redeem(message)
        if not permits.exists(self.organization, self.user, self.id):
            raise AuthenticationError(problem=f"{self.name} has ended")
        return caller


def issue_permit(caller: Caller, services: Sequence[str], purpose: str) -> dict[str, Any]:
    """Return `{id, permit, expires_at}`; it is valid for a year, unless it is ended before."""
    id_, end = secrets.token_hex(PERMIT_ID_BYTES), int(time.time()) + PERMIT_SECONDS
    permit = Permit.for_caller(caller, roles=caller.role_names, services=tuple(services), expires_at=end, id=id_)
    row = permits.PermitRow(id_, purpose, permit.roles, permit.services, int(time.time()), end)
    permits.put(caller.organization, caller.user, row)
    return {"id": id_, "permit": permit.seal(), "expires_at": end}


class Session(SealedToken):
    """The user who logged in; `expires_at` is the end unless the session is used before."""

    name = "the browser's session"
    expired_verb = "ended"
    place = ("browser", "session")

    id: str
    """The part that stays when the session is renewed; a secret of the browser's."""
    began_at: int
    """The login, in epoch seconds."""

    def redeem(self, message: ProvenMessage) -> Caller:
        """Return the user, as long as the browser is signed in."""
        caller = super().redeem(message)
        if not browsers.is_signed_in(caller.subject, self.id):
            raise AuthenticationError(problem="the browser's session has ended")
        return caller

    @property
    def ends_at(self) -> int:
        """The end that no renewal moves, in epoch seconds."""
        return self.began_at + MAX_SESSION_SECONDS


def issue_session(caller: Caller) -> dict[str, Any]:
    """Return the session of a caller who has just logged in: its fields, and its sealed form as `session`."""
    now = int(time.time())
    id_ = secrets.token_urlsafe(ID_BYTES)
    session = Session.for_caller(caller, id=id_, began_at=now, expires_at=now + IDLE_SECONDS)
    return {**_fields(session), "session": session.seal()}


def read_session(value: SecretStr, organization: str) -> dict[str, Any]:
    """Return the fields of a session; with a new sealed form as `session` if it is to be used instead from now on."""
    session, now = Session.open(value, organization), int(time.time())
    until = min(now + IDLE_SECONDS, session.ends_at)
    if until - session.expires_at < IDLE_SECONDS // 2:
        return _fields(session)
    renewed = session.model_copy(update={"expires_at": until})
    return {**_fields(renewed), "session": renewed.seal()}


_SEALED: Mapping[str, type[SealedToken]] = {"warrant": Warrant, "permit": Permit, "session": Session}
"""What the broker sealed itself, by the kind of proof that it is sent as."""


def record_refused_login(subject: Subject, organization: str, client: ClientInfo, error: MembershipRequired) -> None:
    """Record in a person's own organizations that they wanted to sign in to another one."""
    with suppress(MembershipRequired):  # of nobody known here there is no row
        for caller in directory.identify_all(subject):
            with audit.best_effort():
                refused = replace(caller, client=client)
                target = f"organizations.{organization}"
                audit.record_event(refused, "sign_in", audit.SIGN_IN, target=target, outcome=error.code)


def fingerprint(organization: str, value: SecretStr, *, is_session: bool) -> str:
    """Return the hash that a pending connection is bound to: equal for the same session, renewed or not, or JWT."""
    proof = Session.open(value, organization).id if is_session else value.get_secret_value()
    return hashlib.sha256(f"{organization}\n{proof}".encode()).hexdigest()


def _fields(session: Session) -> dict[str, Any]:
    return {**session.model_dump(), "ends_at": session.ends_at}
