"""People: one person's ids in the connected services, by name or e-mail address."""

import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.shows import project, shows
from mcpist.telemetry.invocation import with_context
from mcpist.tools.declare.call import OtherTools, PartialList, ToolLookup
from mcpist.tools.declare.module import Module
from mcpist_services.people.directory import Row, directories

MAX_PEOPLE = 10  # that are shown of one service

people = Module(
    "people",
    __doc__,
    api_version="1",
    accounts_of=directories,
    category="collaboration",
    tags=("people", "directory"),
)

Person = Annotated[str, Field(min_length=2, max_length=200), "A name or an e-mail address, e.g. Aiko Tanaka"]


@people.reads(shows("service", "id", "name", "email", rows="people"))
def find(
    person: Person,
    services: Annotated[list[str] | None, "Only these; else all that are connected, e.g. jira, slack"] = None,
    unique: Annotated[bool, "Fail where a service finds several people"] = False,
) -> ToolLookup:
    """Find a person in all connected services, with the ids that their tools take.

    In a batch `${aiko.jira[0].id}` is the id in one service, and `${aiko.email}` the first e-mail address.
    """
    return ToolLookup(find_person, person=person, services=services, unique=unique)


people.addresses("people://{person}", find, "person", "A person in all connected services.")


@people.prompt(find)
def who_is(person: Person) -> None:
    """Find out who somebody is, and where to reach them."""


@dataclass(frozen=True, slots=True)
class Found:
    """The answer of one service."""

    service: str
    people: Sequence[Row] = ()
    error: McpistError | None = None


def find_person(
    tools: OtherTools, deadline: float, *, person: str, services: Collection[str] | None, unique: bool
) -> PartialList:
    """Return a person's rows in all services, and for each service by its name; and which could not be asked."""
    asked = _asked(tools, person, services)
    if not asked:
        return PartialList(_json([]), "No service was asked: none with a directory is among your tools.")

    def ask(service: str) -> Found:
        directory = directories()[service]
        tool, arguments = directory.use(person)
        try:
            answer, shows = tools.read(service, tool, arguments, deadline - time.monotonic())
        except McpistError as error:
            return Found(service, error=error)
        return Found(service, directory.people(service, project(answer, shows), person)[:MAX_PEOPLE])

    with ThreadPoolExecutor(len(asked)) as threads:
        found = list(threads.map(with_context(ask), asked))
    failed = [one for one in found if one.error]
    if services and failed and failed[0].error:
        raise failed[0].error
    for one in found if unique else ():
        if len(one.people) > 1:
            names = ", ".join(f"{row['name']} ({row['id']})" for row in one.people)
            raise InvalidRequest(field="person", problem=f"{one.service} finds several: {names}")
    problems = [f"{one.service}: {one.error.code}" for one in found if one.error]
    return PartialList(_json(found), f"Not answered: {', '.join(problems)}." if problems else "")


def _asked(tools: OtherTools, person: str, services: Collection[str] | None) -> list[str]:
    """Return the services to ask; InvalidRequest for a named one that has no directory, or not for this caller."""
    usable = [name for name, one in directories().items() if tools.may_use(name, one.use(person)[0])]
    for name in services or ():
        if name not in usable:
            raise InvalidRequest(field="services", problem=f"{name} is not among {', '.join(usable) or 'your tools'}")
    return [name for name in usable if not services or name in services]


def _json(found: Sequence[Found]) -> dict[str, Any]:
    """Return the people of all services together, the first e-mail address, and each service's under its name."""
    people = [row for one in found for row in one.people]
    email = next((row["email"] for row in people if row["email"]), None)
    return {"people": people, "email": email, **{one.service: list(one.people) for one in found}}
