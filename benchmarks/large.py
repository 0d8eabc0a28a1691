"""A large organization, stored quickly: users, roles, imported APIs with many tools, and rows of the audit."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.dynamodb.models import dynamodb_backends

from infra.local.dynamodb import load_item
from infra.local.names import ACCOUNT, REGION
from mcpist.audit import record as audit
from mcpist.aws.attributes import Item, serialize
from mcpist.caller import Caller, Role, Subject
from mcpist.people import directory
from mcpist.people.administration import Administration
from mcpist.people.organization import Organization, User
from mcpist.settings import settings
from mcpist_services.registered import registration
from mcpist_services.registered.request import parse

DAYS = 6
"""The days over which the rows of the audit are spread."""


@dataclass(frozen=True, slots=True)
class Size:
    """The number of an organization's parts."""

    users: int
    roles: int
    apis: int
    tools_per_api: int
    rows: int


class NoAccounts:
    """The accounts of an organization in which none is connected."""

    @staticmethod
    def find(_owners: object) -> list[Any]:
        """Return none."""
        return []

    @staticmethod
    def revoke(_owners: object) -> None:
        """Do nothing."""

    @staticmethod
    def revoke_service(_service: str) -> None:
        """Do nothing."""


def grow(organization: str, administrator: Subject, size: Size) -> None:
    """Add all of a size to an organization that moto holds in this process."""
    fill(directory.identify(administrator, organization=organization), size)
    table = dynamodb_backends[ACCOUNT][REGION].tables[settings().audit_table]
    for row in audit_rows(organization, size.rows):
        load_item(table, serialize(row))


def fill(caller: Caller, size: Size) -> None:
    """Add users, roles and imported APIs to the organization of an administrator; an existing one is kept."""
    administration = Administration(caller, "large", NoAccounts())
    known = set(directory.read(caller.organization).modules)
    for number in range(size.apis):
        if (name := f"api{number}") not in known:
            body = {
                "name": name,
                "description": f"The API {number}",
                "openapi": _description(number, size.tools_per_api),
            }
            registration.register(administration, parse(body))
    names = tuple(f"api{number}" for number in range(size.apis))
    directory.change(caller.organization, lambda before: _grown(before, caller.subject.issuer, size, names))
    directory.access_cache.clear()


def audit_rows(organization: str, count: int) -> Iterator[Item]:
    """Yield rows about uses by the users of such an organization, each tenth of them a failure."""
    now = datetime.now(UTC)
    for number in range(count):
        moment = now - timedelta(days=DAYS) * (number / count)
        row = audit.new_row(
            organization=organization,
            user="uma" if number % 3 else "ada",
            roles=("members",),
            event="use",
            service=f"api{number % 20}",
            account="",
            tool=f"list_items_{number % 200}",
            outcome="RATE_LIMIT_EXCEEDED" if number % 10 == 0 else "succeeded",
            request=f"request-{number}",
        )
        yield audit.keyed(row, organization, f"{audit.timestamp(moment)}#{number:08x}")


def _grown(before: Organization, issuer: str, size: Size, modules: tuple[str, ...]) -> Organization:
    roles = {f"role{n:03}": Role(f"role{n:03}", modules=("rag", "files", *modules[:3])) for n in range(size.roles)}
    everything = {
        name: replace(role, modules=tuple(dict.fromkeys((*role.modules, *modules))))
        for name, role in before.roles.items()
    }
    names, holders = [*roles], next(iter(before.roles))
    users = {
        (user := f"user{n:04}"): User(
            user, f"User {n}", Subject(issuer, user), "user", (holders, names[n % len(names)]) if names else (holders,)
        )
        for n in range(size.users)
    }
    return replace(before, roles={**everything, **roles}, users={**before.users, **users})


def _description(number: int, tools: int) -> str:
    """Return a description of an API whose operations all read."""
    paths = {
        f"/things{tool}": {
            "get": {
                "operationId": f"listThings{tool}",
                "summary": f"List the things of kind {tool} in the store {number}, with their states.",
                "parameters": [{"name": "state", "in": "query", "schema": {"type": "string"}}],
                "responses": {"200": {"description": "ok"}},
            }
        }
        for tool in range(tools)
    }
    api = {"openapi": "3.1.0", "info": {"title": f"Store {number}", "version": "1"}, "paths": paths}
    return json.dumps({**api, "servers": [{"url": f"https://store{number}.example.com"}]})
