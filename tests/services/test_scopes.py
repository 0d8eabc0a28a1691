"""The permissions that tools need: those that the vendors say, and those that are asked for."""

from functools import cache

from mcpist.tools.declare.tool import Tool
from mcpist_services import NAMES, provider_name, providers
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each
from tests.services.contracts import Vendor, needs_descriptions, uses

# Whose descriptions say which permissions an operation takes; answers/<module>.py adds those that pages alone say.
DESCRIBED = ("confluence", "google_calendar", "jira", "slack")
# Of the permissions that Google's and Slack's descriptions name, any one is enough; of Atlassian's, all are needed.
ANY_ONE = {"google_calendar", "slack"}

TOOLS = {f"{name}.{tool.name}": (name, tool) for name in NAMES for tool in CATALOGUE.module(name).tools.values()}


@cache
def vendor(name: str) -> Vendor:
    """A module's services; reading their descriptions takes a while."""
    return Vendor(name)


@cache
def alternatives(name: str) -> dict[str, list[set[str]]]:
    """The sets of permissions for each operation, any one of which is enough."""
    (transport,) = vendor(name).transports
    operations = [
        one for path in transport.contract.doc["paths"].values() for one in path.values() if isinstance(one, dict)
    ]
    ways = {one["operationId"]: one.get("security", []) for one in operations if "operationId" in one}
    together = {
        operation: [set(scopes) for way in found for scopes in way.values() if scopes]
        for operation, found in ways.items()
    }
    if name in ANY_ONE:
        return {operation: [{scope} for scope in set().union(*sets)] or [set()] for operation, sets in together.items()}
    return together


@needs_descriptions
@for_each("name, tool", {place: case for place, case in TOOLS.items() if case[0] in DESCRIBED})
def test_the_scopes_of_a_tool_are_those_of_all_that_it_requests(name: str, tool: Tool) -> None:
    service, needed = vendor(name), CATALOGUE.module(name).scopes_by_tool[tool.name]
    implied_by = CATALOGUE.module(name).scopes.implied_by
    known = set(needed) | {narrow for narrow, wide in implied_by.items() if not set(wide).isdisjoint(needed)}
    service.forget()
    for _, arguments in uses(tool):
        service.perform(tool, arguments)
    enough = {operation: alternatives(name)[operation] for operation in service.operations}
    lacking = [f"{operation} needs {ways}" for operation, ways in enough.items() if not any(w <= known for w in ways)]
    assert not lacking, f"{lacking}; of the tool are {known}"
    named = {scope for ways in enough.values() for way in ways for scope in way}
    unneeded = [scope for scope in needed if not {scope, *implied_by.get(scope, ())} & named]
    assert not unneeded, "it asks for more than it needs"


@for_each("name, tool", TOOLS)
def test_all_that_a_tool_needs_is_asked_for(name: str, tool: Tool) -> None:
    module = CATALOGUE.module(name)
    asked = asked_for(name) if module.service else ()
    missing = module.missing_scope(tool.name, asked)
    assert missing is None, f"the provider is not asked for {missing}"
    assert not module.scopes_by_tool[tool.name] or asked, "no provider is asked for its scopes"


def asked_for(service: str) -> tuple[str, ...]:
    """What the broker asks the service's provider for."""
    return providers()[provider_name(service)].scopes((service,))
