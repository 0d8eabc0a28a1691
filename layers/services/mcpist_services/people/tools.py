"""People: one person's ids in the connected services, by name or e-mail address."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import ToolLookup
from mcpist.tools.declare.module import Module
from mcpist_services.people.directory import directories
from mcpist_services.people.finding import find as find_person
from mcpist_services.people.synonyms import SYNONYMS

people = Module(
    "people",
    __doc__,
    api_version="1",
    accounts_of=directories,
    synonyms=SYNONYMS,
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


@people.resource("people://{person}", find)
def person(person: str) -> Mapping[str, Any]:
    """A person in all connected services."""
    return {"person": person}


@people.prompt(find)
def who_is(person: Person) -> str:
    """Find out who somebody is, and where to reach them."""
    return (
        f"Find {person} in the connected services (people.find). If several people have the name, ask me which one I "
        "mean. Then say in two sentences who it is and how to reach them."
    )
