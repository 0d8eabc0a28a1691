"""Shared parts of all changes of an organization: their options, the condition of a version, and the report of effects.

Fields are named as in the file that `mcpist org export` writes, so that what it writes can be sent.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import BaseModel, Field

from mcpist.errors import InvalidRequest
from mcpist.people.administration import Administration, AppliedChange
from mcpist.people.change import ChangeOptions
from mcpist.people.edits import Edit
from mcpist.people.organization import MAX_ID_CHARACTERS, Organization
from mcpist.running.accounts import BrokerAccounts
from mcpist.tools.access.effects import describe_change
from mcpist_services.catalogue import CATALOGUE
from rest_api.exchange import current
from rest_api.router import json_responses

DryRun = Annotated[bool, Query(alias="dryRun", description="Change nothing; show who would gain and lose which tools")]
WithGrants = Annotated[
    bool,
    Query(alias="withGrants", description="Also revoke the accounts of users and roles that it removes or replaces"),
]
Name = Annotated[str, Field(min_length=1, max_length=256)]
# The rule that the directory checks: pydantic's own patterns know no lookahead.
NewId = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_ID_CHARACTERS,
        json_schema_extra={"pattern": r"^(?!\.{1,2}$)[^#/\u0000-\u001f]+$"},
    ),
]
Names = Annotated[tuple[Annotated[str, Field(min_length=1, max_length=256)], ...], Field(max_length=1_000)]

# `W/` is what proxies that compress make of an entity tag.
_VERSION = re.compile(r'(?:W/)?"(\d{1,15})"|(\d{1,15})')


class ChangedField(BaseModel):
    """A field before and after a change."""

    path: str
    before: Any = None
    after: Any = None


class ChangeEffect(BaseModel):
    """The tools that appear and vanish for some users, and for some roles alone."""

    users: list[str]
    roles: list[str]
    appear: list[str]
    vanish: list[str]


class CountedCall(BaseModel):
    """Successful calls of a tool by one user."""

    user: str
    tool: str
    calls: int
    last: Annotated[str, Field(description="The time of the latest one")]


class CountedCalls(BaseModel):
    """The calls of the last days that would have met a change."""

    days: int
    complete: Annotated[
        bool, Field(description="False where counting took too long: each call was made at least so many times")
    ]
    calls: list[CountedCall]


class ChangeReport(BaseModel):
    """The effects of a change, or with `dryRun` those that it would have."""

    organization: str
    version: Annotated[int, Field(description="The organization's version, for `If-Match`")]
    dry_run: bool
    changes: list[ChangedField]
    effects: list[ChangeEffect]
    refused_calls: Annotated[
        CountedCalls | None, Field(description="With `dryRun`, where users lose tools: what they used of them lately")
    ] = None
    asked_calls: Annotated[
        CountedCalls | None,
        Field(description="With `dryRun`, where a person is asked from now on: what was used lately"),
    ] = None
    forgotten_grants: Annotated[list[str], Field(description="The connected accounts that it revokes")]
    warnings: Annotated[list[str], Field(description="Modules and masks that match nothing since this change")]


CREATED = json_responses(ChangeReport, _200="What would change, of a dry run", _201="It was created")


def administration() -> Administration:
    """Return the administration of the caller's organization."""
    exchange = current()
    return Administration(exchange.caller, exchange.request_id, BrokerAccounts(exchange.caller))


def options(*, dry_run: bool, with_grants: bool = False) -> ChangeOptions:
    """Return the options of a request; its header `If-Match` names the version that is expected."""
    stated = current().request.headers.get("if-match", "*").strip()
    version = None
    if stated != "*":
        found = _VERSION.fullmatch(stated)
        if found is None:
            raise InvalidRequest(field="if-match", problem='it is not a version such as "7"')
        version = int(found[1] or found[2])
    return ChangeOptions(dry_run, version, with_grants)


def report(applied: AppliedChange, *, creates: bool = False) -> Response[ChangeReport]:
    """Return the report of a change; 201 where something was created."""
    body = ChangeReport.model_validate(describe_change(applied, CATALOGUE))
    return versioned(body, body.version, 201 if creates and not applied.dry_run else 200)


def change(action: str, target: str, edit: Edit, *, dry_run: bool, with_grants: bool = False) -> Response[ChangeReport]:
    """Change the organization, and return the report of the change."""
    chosen = options(dry_run=dry_run, with_grants=with_grants)
    return report(administration().change(action, target, edit, chosen), creates=action.endswith(".create"))


def show[Body: BaseModel](
    action: str, target: str, describe: Callable[[Organization], Body], *, tagged: bool = True
) -> Response[Body]:
    """Describe the organization to an administrator; a refusal has an audit row, and so has a name that is unknown.

    Only what nothing but the organization decides is `tagged` with its version.
    """
    work = administration()
    with work.permitted(action, target, event="look"):
        version, found = work.read()
        body = describe(found)
    return versioned(body, version) if tagged else Response(200, "application/json", body)


def shown_once[Body: BaseModel](body: Body, status: int = 201) -> Response[Body]:
    """Return a body with a secret, which no cache may keep."""
    return Response(status, "application/json", body, headers={"cache-control": "no-store"})


def versioned[Body: BaseModel](body: Body, version: int, status: int = 200) -> Response[Body]:
    """Return a body with the organization's version as its entity tag."""
    return Response(status, "application/json", body, headers={"etag": f'"{version}"'})
