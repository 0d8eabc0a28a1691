"""The bearer token of a request: whom it identifies, and the challenge that leads a client to a new one.

Source: RFC 6750 and RFC 9728.
"""

from dataclasses import replace

from mcpist.caller import ANSWER_FORMATS, AnswerFormat, Caller, ClientInfo, Proof
from mcpist.errors import (
    AuthenticationError,
    AuthorizationError,
    ClientNotAllowed,
    InvalidRequest,
    McpistError,
    TokenMissing,
)
from mcpist.http.request import HttpRequest
from mcpist.loopback import same_urls
from mcpist.people import directory, identity
from mcpist.people.identity import AccessToken
from mcpist.settings import settings

METADATA_PATH = "/.well-known/oauth-protected-resource"
ROLE_HEADER, ORGANIZATION_HEADER = "x-mcpist-role", "x-mcpist-organization"
FORMAT_HEADER = "x-mcpist-format"


def authorize(request: HttpRequest, *, reading_only: bool = False) -> Caller:
    """Return the caller that the bearer token identifies, in the organization that the path or a header names."""
    headers = request.headers
    token, verified = _verified_token(request)
    organization = request.path_parameters.get("organization") or headers.get(ORGANIZATION_HEADER, "")
    role = headers.get(ROLE_HEADER, "")
    roles = (role,) if role else ()
    within = verified.organizations
    caller = directory.identify(verified.subject, organization=organization, roles=roles, within=within)
    client = ClientInfo.described(headers.get("user-agent", ""), client_id=verified.client_id)
    locale, proof = request.locale(caller.locale), Proof("jwt", token)
    return replace(
        caller,
        locale=locale,
        proof=proof,
        client=client,
        reading_only=reading_only,
        format=_format(headers.get(FORMAT_HEADER)),
        login=verified.login,
    )


def _format(name: str | None) -> AnswerFormat | None:
    """Return the form of answers that a header names; None without one."""
    found = next((known for known in ANSWER_FORMATS if known == name), None)
    if name and not found:
        raise InvalidRequest(field=FORMAT_HEADER, problem=f"it is one of {', '.join(ANSWER_FORMATS)}")
    return found


def memberships(request: HttpRequest) -> list[Caller]:
    """Return the callers that the bearer token's subject is, one for each of its organizations."""
    _, verified = _verified_token(request)
    found, within = directory.identify_all(verified.subject), verified.organizations
    kept = [caller for caller in found if not within or caller.organization in within]
    if not kept:
        raise ClientNotAllowed(organization=found[0].organization)
    return kept


def _verified_token(request: HttpRequest) -> tuple[str, AccessToken]:
    """Return the bearer token and what it says."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise TokenMissing
    return token.strip(), verify(token.strip(), request.asked_url)


def verify(token: str, public_url: str) -> AccessToken:
    """Return the claims of a valid access token for the endpoint at an address."""
    return identity.verify_token(token, audience(public_url))


def audience(public_url: str) -> str:
    """Return the resource that a token must be issued for; on loopback it has the name that was asked for."""
    asked = f"{public_url}/mcp"
    return asked if settings().audience in {"", *same_urls(asked)} else settings().audience


def challenge(error: McpistError, public_url: str) -> dict[str, str]:
    """Return the headers that tell a client how to get a token, or one with more permissions.

    API Gateway renames a function's `www-authenticate`; the template maps the copy back to that name.
    """
    link = f'resource_metadata="{public_url}{METADATA_PATH}/mcp"'
    match error:
        case TokenMissing():
            value = f"Bearer {link}"
        case AuthenticationError():
            value = f'Bearer error="invalid_token", error_description="{error.text().message}", {link}'
        case AuthorizationError():
            value = f'Bearer error="insufficient_scope", {link}'
        case _:
            return {}
    return {"www-authenticate": value, "x-mcpist-www-authenticate": value}
