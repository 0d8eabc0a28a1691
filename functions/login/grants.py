"""The grants in which no person takes part: of service users, and of companies' issuers."""

from typing import Any

from authlib.oauth2.rfc6749 import InvalidGrantError, UnauthorizedClientError
from authlib.oauth2.rfc6749.grants import BaseGrant, ClientCredentialsGrant, TokenEndpointMixin

from login import enterprise
from login.metadata import CONFIDENTIAL_METHODS, JWT_BEARER
from login.tokens import ClientGrant
from mcpist.errors import AuthenticationError, AuthorizationError
from mcpist.people import service_credentials
from mcpist.people.client_logins import ClientLogin


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
            grant = enterprise.redeem(form.get("assertion", ""), client, scope, self.request.number)
        except AuthenticationError as error:
            raise InvalidGrantError(f"The assertion is not accepted: {error.details['problem']}") from None
        except AuthorizationError:
            raise InvalidGrantError("The person is no user of the organization, or has not accepted to be") from None
        return 200, self.generate_token(grant, include_refresh_token=False), self.TOKEN_RESPONSE_HEADER
