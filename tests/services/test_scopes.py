"""The permissions that tools need: those that the vendors say, and those that are asked for."""

import json
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from mcpist.tools.tool import Tool
from mcpist_services import NAMES, provider_name, providers
from mcpist_services.catalogue import CATALOGUE
from tests.services.contracts import SPECS, needs_descriptions

# Whose description says which permissions an operation takes; any of them is enough.
DESCRIBED = {"confluence": "confluence", "google_calendar": "google-calendar", "jira": "jira"}
# Google's description names permissions any one of which is enough; Atlassian's names those that are needed together.
ANY_ONE = {"google_calendar"}
# Jira's description leaves them out, and the vendor's page of the operation names them; all of them are needed.
# https://developer.atlassian.com/cloud/jira/software/rest/api-group-board/#api-rest-agile-1-0-board-get
ON_PAGES = {"getAllBoards": [{"read:board-scope:jira-software", "read:project:jira"}]}

TOOLS = [(name, tool) for name in NAMES for tool in CATALOGUE.module(name).tools.values()]
IDS = [f"{name}.{tool.name}" for name, tool in TOOLS]


@cache
def alternatives(name: str) -> dict[str, list[set[str]]]:
    """The sets of permissions for each operation, any one of which is enough."""
    description = json.loads((SPECS / f"{DESCRIBED[name]}.openapi.json").read_text("utf-8"))
    if amend := getattr(import_module(f"tests.services.answers.{name}"), "amend", None):
        amend(description)
    operations = [one for path in description["paths"].values() for one in path.values() if isinstance(one, dict)]
    found = {one["operationId"]: _scopes(one.get("security", [])) for one in operations if "operationId" in one}
    if name in ANY_ONE:
        return {operation: [{scope} for scope in set().union(*sets)] for operation, sets in found.items()}
    return found


def _scopes(security: list[dict[str, Any]]) -> list[set[str]]:
    return [set(scopes) for way in security for scopes in way.values() if scopes]


@needs_descriptions
@pytest.mark.parametrize(
    ("name", "tool"),
    [one for one in TOOLS if one[0] in DESCRIBED],
    ids=[one for one in IDS if one.partition(".")[0] in DESCRIBED],
)
def test_the_scopes_of_a_tool_are_those_of_its_operation(name: str, tool: Tool) -> None:
    module = CATALOGUE.module(name)
    needed, enough = module.scopes_by_tool[tool.name], alternatives(name)[tool.operation] or ON_PAGES[tool.operation]
    assert any(one <= set(needed) for one in enough)
    own = needed[-1]  # those before it are of what the tool reads first
    assert {own, *module.scopes.implied_by.get(own, ())} <= set().union(*enough)


@pytest.mark.parametrize(("name", "tool"), TOOLS, ids=IDS)
def test_all_that_a_tool_needs_is_asked_for(name: str, tool: Tool) -> None:
    module = CATALOGUE.module(name)
    asked = asked_for(name) if module.service else ()
    assert module.missing_scope(tool.name, asked) is None
    assert not module.scopes_by_tool[tool.name] or asked


def asked_for(service: str) -> tuple[str, ...]:
    """What the broker asks the service's provider for."""
    return providers()[provider_name(service)].scopes((service,))
