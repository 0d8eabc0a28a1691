"""The organization as a whole, and the organizations of a person."""

import time
from typing import Annotated, Literal

from aws_lambda_powertools.event_handler import Response
from pydantic import BaseModel, Field

from mcpist.http import bearer
from mcpist.people import directory, edits
from mcpist.people.change import fields_of
from mcpist.people.documents import OrganizationDocument, TrustedIssuerDocument
from mcpist.people.organization import MAX_TRUSTED_ISSUERS
from mcpist.people.quota import request_quota
from mcpist.spending import Measure, spent_today
from rest_api.administration.changes import (
    ChangeReport,
    DryRun,
    Name,
    Names,
    WithGrants,
    administration,
    change,
    options,
    report,
    show,
)
from rest_api.exchange import current
from rest_api.router import AdministrationRequest, Operations, body_of

router = Operations("administration")


class Membership(BaseModel):
    """A person's user id and roles in an organization."""

    organization: str
    user: str
    system_role: Literal["admin", "user"]
    roles: list[str]
    default: Annotated[bool, Field(description="Whether requests that name no organization go there")]


class MembershipList(BaseModel):
    """The organizations of a person."""

    organizations: list[Membership]


class DayLimit(BaseModel):
    """A limit of the day, and how much of it is spent."""

    measure: Annotated[
        Measure, Field(description="`steps` of batches, other `calls`, `program_seconds`, or `bytes` sent and stored")
    ]
    used: Annotated[int, Field(description="Sandboxes add what they count by shares, so it may lag a little")]
    limit: int
    percent: int
    state: Annotated[Literal["ok", "near", "reached"], Field(description="`near` from 80 percent on")]


class OrganizationUsage(BaseModel):
    """The limits of the day (UTC) that the deployment has, and how much of each is spent."""

    limits: list[DayLimit]


class OrganizationChange(AdministrationRequest):
    """The fields of an organization that change."""

    name: Name | None = None
    disable: Annotated[Names, Field(description="Masks of tools to switch off for everybody")] = ()
    enable: Annotated[Names, Field(description="Masks to remove from those that are switched off")] = ()
    clients: Annotated[
        Names | None, Field(description="The names and hosts of the clients that may act for people; none: all may")
    ] = None
    trusted_issuers: Annotated[
        tuple[TrustedIssuerDocument, ...] | None,
        Field(
            max_length=MAX_TRUSTED_ISSUERS, description="The company's issuers, for Enterprise-Managed Authorization"
        ),
    ] = None
    undoable: Annotated[bool | None, Field(description="Whether what undoes each write is kept, for 30 days")] = None


@router.operation("GET", "/v1/organizations", "List your organizations")
def list_organizations() -> MembershipList:
    """List the organizations of the person, with user id and roles in each."""
    callers = bearer.memberships(current().request)
    # Counted here: a caller without an organization has not passed the front's count.
    request_quota.count(callers[0])
    default = directory.known(callers[0].subject).default
    return MembershipList(
        organizations=[
            body_of(Membership, one, roles=one.role_names, default=one.organization == default) for one in callers
        ]
    )


@router.operation("GET", "/v1/organization", "Show the organization")
def get_organization() -> Response[OrganizationDocument]:
    """Show the organization with its roles and users."""
    return show(
        "organization.read", "organization", lambda found: OrganizationDocument.model_validate(fields_of(found))
    )


@router.operation("GET", "/v1/organization/usage", "Show what the organization has spent today")
def get_organization_usage() -> OrganizationUsage:
    """Show what the organization has spent of each limit of the day; one that is reached refuses until midnight UTC."""
    work = administration()
    with work.permitted("organization.usage", "organization", event="look"):
        spent = spent_today(work.caller.organization, time.time())
    return OrganizationUsage(limits=[body_of(DayLimit, one) for one in spent])


@router.operation("PATCH", "/v1/organization", "Change the organization")
def change_organization(body: OrganizationChange, dry_run: DryRun = False) -> Response[ChangeReport]:
    """Rename the organization, switch tools off and on for everybody in it, or choose who may act for its people."""
    issuers = None if body.trusted_issuers is None else [one.to_issuer() for one in body.trusted_issuers]
    edit = edits.change_own_fields(**{**dict(body), "trusted_issuers": issuers})
    return change("organization.update", "organization", edit, dry_run=dry_run)


@router.operation("PUT", "/v1/organization", "Replace the organization")
def replace_organization(
    body: OrganizationDocument, dry_run: DryRun = False, with_grants: WithGrants = False
) -> Response[ChangeReport]:
    """Make the organization exactly what the document says: roles and users that it leaves out are removed."""
    chosen = options(dry_run=dry_run, with_grants=with_grants)
    return report(administration().replace(body.to_organization(), chosen))
