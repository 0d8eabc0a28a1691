"""Company logins: the issuers that say who the people with addresses of a domain are."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from mcpist.people import company_logins
from mcpist.people.issuers import Issuer
from rest_api.administration.changes import administration
from rest_api.router import Operations

router = Operations("administration")


class NewLogin(BaseModel):
    """The issuer of a domain's people, and our client there."""

    model_config = ConfigDict(extra="forbid")

    issuer: Annotated[
        str, Field(max_length=500, pattern="^https?://", description="Its https URL, as its metadata has it")
    ]
    client_id: Annotated[str, Field(max_length=500)]
    client_secret: Annotated[
        str, Field(max_length=2_000, repr=False, description="It is never shown again; empty for a public client")
    ] = ""


class LoginBody(BaseModel):
    """A company login."""

    domain: str
    issuer: str
    client_id: str
    redirect_uri: Annotated[str, Field(description="The redirect URI that the issuer's client needs")]


class LoginList(BaseModel):
    """The company logins, and how a domain names the organization."""

    logins: list[LoginBody]
    proof_url: Annotated[str, Field(description="The file that each domain publishes")]
    proof_line: Annotated[str, Field(description="The line of it that names the organization")]


@router.operation("GET", "/v1/logins", "List the company logins")
def list_logins() -> LoginList:
    """List the issuers at which the organization's people log in, by the domains of their addresses."""
    work = administration()
    with work.permitted("logins.list", event="look"):
        found = company_logins.find(work.caller.organization)
    line = company_logins.proof_line(work.caller.organization)
    return LoginList(logins=list(map(_shown, found)), proof_url=company_logins.PROOF_URL, proof_line=line)


@router.operation("PUT", "/v1/logins/<domain>", "Set a company login")
def set_login(domain: str, body: NewLogin) -> LoginBody:
    """Let an issuer say who the people of a domain are; each value is tried at the issuer and the domain first."""
    given = {"issuer": body.issuer, "client_id": body.client_id, "client_secret": body.client_secret}
    return _shown(company_logins.save(administration(), domain, **given))


@router.operation("DELETE", "/v1/logins/<domain>", "Remove a company login")
def delete_login(domain: str) -> LoginList:
    """Let the people of a domain log in as all others do, and list the logins that are left; users stay as they are."""
    company_logins.remove(administration(), domain)
    return list_logins()


def _shown(one: Issuer) -> LoginBody:
    return LoginBody(domain=one.domain, issuer=one.url, client_id=one.client_id, redirect_uri=one.redirect_uri)
