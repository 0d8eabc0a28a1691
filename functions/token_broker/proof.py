"""Authentication: from a message's proof to the Caller; nothing else in a message identifies the caller."""

from dataclasses import replace

from mcpist.caller import Caller, ClientInfo
from mcpist.errors import AuthenticationError, MembershipRequired
from mcpist.people.directory import identify, in_roles
from mcpist.people.identity import verify_token
from mcpist.settings import settings
from token_broker.connecting import session
from token_broker.message import JwtProof, Login, Message, Resolve, SessionProof, WarrantProof
from token_broker.resolving import warrant


def authenticate(message: Message) -> Caller:
    """Return the caller with the roles that the message names, each of which the directory must know.

    A person's message about their own accounts may name none: then all roles count.
    """
    match message:
        case Resolve(proof=WarrantProof(value=value)):
            caller = warrant.redeem(
                value, organization=message.organization, roles=message.roles, service=message.service
            )
        case _ if isinstance(message.proof, SessionProof):
            caller = session.redeem(message.proof.value, message.organization)
        case _:
            caller = _caller_from_jwt(message)
    if message.client:
        verified = caller.client.id  # that of the token itself
        caller = replace(caller, client=replace(message.client.to_client(), **({"id": verified} if verified else {})))
    return caller if message.roles is None else in_roles(caller, message.roles)


def _caller_from_jwt(message: Message) -> Caller:
    if not isinstance(message.proof, JwtProof):
        raise AuthenticationError(problem="this needs the user's own access token")
    token = verify_token(message.proof.value.get_secret_value(), _audience())
    client = ClientInfo(id=token.client_id)
    try:
        return replace(identify(token.subject, organization=message.organization), client=client)
    except MembershipRequired as error:
        if isinstance(message, Login):
            session.record_refused_login(token.subject, message.organization, client, error)
        raise


def _audience() -> str:
    if not settings().audience:
        raise AuthenticationError(problem="no audience is configured: set Audience or PublicUrl")
    return settings().audience
