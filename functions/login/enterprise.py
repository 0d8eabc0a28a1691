"""Enterprise-Managed Authorization: a company's issuer lets a client act for a person, by an assertion (ID-JAG).

An organization names the issuers that it trusts; no other organization's people are reached by their word.
Source: https://datatracker.ietf.org/doc/draft-ietf-oauth-identity-assertion-authz-grant/
"""

import re
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from authlib.oauth2.rfc6749 import InvalidGrantError, UnauthorizedClientError
from authlib.oauth2.rfc6749.grants import BaseGrant, ClientCredentialsGrant, TokenEndpointMixin

from login import admission, assertions, tokens
from login.clients import LoginClient, digest
from login.logins import KnownPerson
from login.metadata import CONFIDENTIAL_METHODS, JWT_BEARER
from login.tokens import ClientGrant
from mcpist.audit import record as audit
from mcpist.caller import Caller, ClientInfo, Subject
from mcpist.errors import (
    AcceptanceRequired,
    AuthenticationError,
    AuthorizationError,
    InvalidRequest,
    MembershipRequired,
)
from mcpist.loopback import same_urls
from mcpist.people import directory, edits, identity, memberships, service_credentials
from mcpist.people.administration import journal_of
from mcpist.people.client_logins import ClientLogin
from mcpist.people.organization import RESERVED_IDS, WAITING_KIND, Organization, TrustedIssuer
from mcpist.people.part import UserEdit
from mcpist.settings import settings

ASSERTION_KINDS = ("oauth-id-jag+jwt", "application/oauth-id-jag+jwt")
MAX_SHOWN_CHARACTERS, MAX_CLAIM_CHARACTERS = 100, 500
NOT_TRUSTED = "no organization of this resource trusts its issuer"


def redeem(assertion: str, client: LoginClient, scope: str, request: str) -> ClientGrant:
    """Return the grant of a client for the person of an assertion, in the one organization that trusts its issuer.

    AuthenticationError for an assertion that does not count, MembershipRequired for a person who is no user there.
    """
    said = assertions.unverified(assertion)
    if any(len(str(said.get(name, ""))) > MAX_CLAIM_CHARACTERS for name in ("iss", "sub", "resource")):
        raise AuthenticationError(problem="a claim is too long")
    subject = Subject(str(said.get("iss", "")).rstrip("/"), str(said.get("sub", "")))
    organization = _organization_of(said.get("resource")) or directory.known(subject).default
    trusted = _trusted(organization, subject.issuer, client)
    find_key = identity.keys_of(trusted.issuer)
    claims = assertions.take(
        assertion, issuer=trusted.issuer, kinds=ASSERTION_KINDS, find_key=find_key, client_id=client.id
    )
    acting = ClientInfo.described(client.name, client_id=client.id)
    try:
        caller = directory.identify(subject, organization=organization)
    except AcceptanceRequired:
        raise
    except MembershipRequired:
        if not trusted.adds_people:
            raise
        _add(organization, trusted, subject, str(claims.get("email") or subject.sub), acting, request)
        caller = directory.identify(subject, organization=organization)
    grant, is_new = tokens.begin_asserted_login(subject, client, organization, scope)
    if is_new:
        with audit.best_effort():
            said_by = {"client": client.name, "issuer": trusted.issuer}
            caller = replace(caller, client=acting)
            audit.record_change(caller, action="login.assert", target="clients", request=request, after=said_by)
    return grant


def add_person(person: KnownPerson, client: LoginClient, request: str) -> list[Caller]:
    """Make whom a company login names a user, by an address of its domain, if the organization adds people so."""
    own = directory.read_settings(person.organization)
    trusted = next((one for one in own.trusted_issuers if one.issuer == person.subject.issuer), None)
    is_known = any(item["sk"] == f"{WAITING_KIND}#{own.id}" for item in directory.read_subject(person.subject))
    if trusted and trusted.adds_people and person.email and not is_known:
        acting = ClientInfo.described(client.name, client_id=client.id)
        _add(own.id, trusted, person.subject, person.email, acting, request)
    return admission.memberships(person.subject, own.id)


def resource_path(resource: object) -> str | None:
    """Return the path of a resource below the endpoint; None for a resource that is not ours."""
    for known in same_urls(settings().audience):
        if isinstance(resource, str) and (resource == known or resource.startswith(f"{known}/")):
            return resource.removeprefix(known).strip("/")
    return None


def _organization_of(resource: object) -> str:
    """Return the organization whose address an assertion's resource is; empty for the address of all."""
    path = resource_path(resource)
    if path is None:
        raise AuthenticationError(problem="it was issued for another resource")
    first = unquote(path.partition("/")[0])
    return "" if first in RESERVED_IDS else first


def _trusted(organization: str, issuer: str, client: LoginClient) -> TrustedIssuer:
    """Return the issuer as the organization trusts it, if it lets the client act."""
    try:
        own = directory.read_settings(organization) if organization else None
    except InvalidRequest:  # its text names all organizations
        own = None
    found = [one for one in own.trusted_issuers if one.issuer == issuer] if own else []
    if own is None or not found:
        raise AuthenticationError(problem=NOT_TRUSTED)
    if client.organization not in {"", organization} or not admission.allows(own.clients, client):
        raise AuthenticationError(problem="the organization does not allow this client")
    return found[0]


def _add(
    organization: str, trusted: TrustedIssuer, subject: Subject, shown: str, client: ClientInfo, request: str
) -> None:
    """Make a person a user of an organization; the id is nobody else's, whatever the issuer calls the person."""
    name = re.sub(r"[#/\x00-\x1f]", "-", shown)[:MAX_SHOWN_CHARACTERS]
    user = f"{name}-{digest(directory.subject_key(subject))[:8]}"

    def joined(before: Organization) -> Organization:
        if trusted not in before.trusted_issuers:
            raise AuthenticationError(problem=NOT_TRUSTED)
        roles = tuple(role for role in trusted.roles if role in before.roles)
        return edits.add_user(user, sub=subject.sub, issuer=subject.issuer, name=name, roles=roles)(before)

    caller = Caller(organization, user, subject, "user", (), client=client)
    edit = UserEdit(joined, user, trusted.roles, subject.sub, subject.issuer)
    memberships.keep_default(subject)
    directory.change(organization, edit, journal=journal_of(caller, "users.provision", request))
    directory.read_subject(subject, fresh=True)


class ServiceGrant(ClientCredentialsGrant):  # type: ignore[misc]
    """A token for the credentials of a service user; a further one needs them again."""

    TOKEN_ENDPOINT_AUTH_METHODS = list(CONFIDENTIAL_METHODS)

    def create_token_response(self) -> tuple[int, dict[str, Any], Any]:
        """Return the token."""
        client = self.request.client
        login = ClientLogin(client.credentials, client.id, client.name, "", 0, 0, 0)
        subject, scope = service_credentials.subject_of(client.id), client.get_allowed_scope(self.request.payload.scope)
        grant = ClientGrant(subject, login, scope, "", organizations=(client.organization,))
        return 200, self.generate_token(grant, include_refresh_token=False), self.TOKEN_RESPONSE_HEADER


class AssertionGrant(BaseGrant, TokenEndpointMixin):  # type: ignore[misc]
    """A token for the assertion of a company's issuer, once."""

    GRANT_TYPE = JWT_BEARER
    TOKEN_ENDPOINT_AUTH_METHODS = list(CONFIDENTIAL_METHODS)

    def validate_token_request(self) -> None:
        """Authenticate the client."""
        client = self.authenticate_token_endpoint_client()
        if not client.check_grant_type(self.GRANT_TYPE):
            raise UnauthorizedClientError("the client has another grant")
        self.request.client = client

    def create_token_response(self) -> tuple[int, dict[str, Any], Any]:
        """Take the assertion, and return the token."""
        client, form = self.request.client, self.request.form
        scope = client.get_allowed_scope(self.request.payload.scope)
        try:
            grant = redeem(form.get("assertion", ""), client, scope, self.request.number)
        except AuthenticationError as error:
            raise InvalidGrantError(f"The assertion is not accepted: {error.details['problem']}") from None
        except AuthorizationError:
            raise InvalidGrantError("The person is no user of the organization, or has not accepted to be") from None
        return 200, self.generate_token(grant, include_refresh_token=False), self.TOKEN_RESPONSE_HEADER
