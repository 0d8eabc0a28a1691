"""Service users: programs that log in by themselves, with a key of their own or a secret."""

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, ConfigDict, Field

from mcpist.people import services
from mcpist.people.services import MAX_PUBLIC_KEY_CHARACTERS, MadeCredentials
from rest_api.administration.changes import Name, Names, NewId, administration
from rest_api.exchange import current
from rest_api.router import Operations, json_responses

router = Operations("administration")


class NewCredentials(BaseModel):
    """The proof of a program: a key, or a secret that is made if neither field is named."""

    model_config = ConfigDict(extra="forbid")

    public_key: Annotated[
        str, Field(max_length=MAX_PUBLIC_KEY_CHARACTERS, description="Its public key (EC P-256 or RSA), as PEM or JWK")
    ] = ""
    jwks_url: Annotated[
        str,
        Field(max_length=1_000, pattern=r"^(https://.*)?$", description="The address at which it publishes its keys"),
    ] = ""


class NewService(NewCredentials):
    """A new service user."""

    user: Annotated[NewId, Field(description="The user's id")]
    name: Name
    roles: Names = ()


class ServiceBody(BaseModel):
    """A service user's credentials."""

    user: str
    client_id: Annotated[str, Field(description="Its `client_id` at the token endpoint")]
    client_secret: Annotated[str | None, Field(description="It is shown only now")] = None
    token_endpoint: str


MADE = json_responses(ServiceBody, _201="The program can log in")


@router.operation("POST", "/v1/services", "Add a service user", MADE)
def create_service(body: NewService) -> Response[ServiceBody]:
    """Add a program that acts for no person: a user with roles that gets tokens by `client_credentials`.

    It is changed and removed like any other user: then its tokens are refused within five seconds.
    """
    keys = {"public_key": body.public_key, "jwks_url": body.jwks_url}
    made = services.create(administration(), body.user, name=body.name, roles=body.roles, **keys)
    return _shown(body.user, made)


@router.operation("POST", "/v1/services/<user>/credentials", "Replace a service user's credentials", MADE)
def replace_service_credentials(user: str, body: NewCredentials) -> Response[ServiceBody]:
    """Give a service user a new key or secret; the former one and its tokens are refused within five seconds."""
    made = services.replace_credentials(administration(), user, public_key=body.public_key, jwks_url=body.jwks_url)
    return _shown(user, made)


def _shown(user: str, made: MadeCredentials) -> Response[ServiceBody]:
    endpoint = f"{current().request.public_url}/login/token"
    body = ServiceBody(user=user, client_id=made.client_id, client_secret=made.secret or None, token_endpoint=endpoint)
    # A secret, which no cache may keep.
    return Response(201, "application/json", body, headers={"cache-control": "no-store"})
