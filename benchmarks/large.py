"""A large organization, stored quickly: users, roles, imported APIs with many tools, and rows of the audit."""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from moto.dynamodb.models import dynamodb_backends

from infra.local.dynamodb import load_item
from infra.local.names import ACCOUNT, REGION
from mcpist.audit import record as audit
from mcpist.aws.attributes import Item, serialize
from mcpist.batch.ledger.items import header_item, listing_items
from mcpist.batch.ledger.records import Header
from mcpist.caller import Caller, Role, Subject
from mcpist.files.content import JSON
from mcpist.files.records import FileRecord, items_of
from mcpist.people import directory
from mcpist.people.administration import Administration
from mcpist.people.organization import Organization, User
from mcpist.settings import settings
from mcpist_services.registered import registration
from mcpist_services.registered.request import parse

DAYS = 6
"""The days over which rows of the audit, files and batches are spread."""
FILE_SECONDS = 10 * 86_400


@dataclass(frozen=True, slots=True)
class Size:
    """The number of an organization's parts."""

    users: int
    roles: int
    apis: int
    tools_per_api: int
    rows: int
    files: int = 0
    """The files of the administrator."""
    batches: int = 0
    """The batches of the administrator, of three steps each."""


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

    @staticmethod
    def has_app(_service: str) -> bool:
        """Return that there is none."""
        return False


def grow(organization: str, administrator: Subject, size: Size) -> None:
    """Add all of a size to an organization that moto holds in this process."""
    caller = directory.identify(administrator, organization=organization)
    fill(caller, size)
    tables = dynamodb_backends[ACCOUNT][REGION].tables
    for row in audit_rows(organization, size.rows):
        load_item(tables[settings().audit_table], serialize(row))
    for item in (*file_items(caller, size.files), *batch_items(caller, size.batches)):
        load_item(tables[settings().ledger_table], serialize(item))


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


def file_items(caller: Caller, count: int) -> Iterator[Item]:
    """Yield the records of files, whose contents are stored nowhere."""
    now = datetime.now(UTC)
    for number in range(count):
        moment = (now - timedelta(days=DAYS) * (number / count)).isoformat(timespec="seconds")
        until = int(now.timestamp()) + FILE_SECONDS
        yield from items_of(
            FileRecord(
                caller.organization, caller.user, f"{number:064x}", 10_000 + number, JSON, "a.json", moment, until
            )
        )


def batch_items(caller: Caller, count: int) -> Iterator[Item]:
    """Yield the headers of batches that are done, and their places in the lists."""
    now = time.time()
    for number in range(count):
        began = now - DAYS * 86_400 * (number / count)
        head = Header(
            organization=caller.organization,
            batch=f"b_{number:016x}",
            user=caller.user,
            subject=caller.subject,
            roles=caller.role_names,
            warrant="",
            ids=("find", "read", "write"),
            needs=(frozenset(), frozenset({0}), frozenset({1})),
            started_at=began,
            closes_at=began + 60,
            expires_at=now + FILE_SECONDS,
            changed_at=began + 5,
            seq={0: 1, 1: 2, 2: 3},
            outcome=dict.fromkeys(range(3), "succeeded"),
        )
        yield from (header_item(head), *listing_items(head))


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
