"""The permissions that tools need: those that the vendors say, and those that are asked for."""

import json
from functools import cache
from typing import Any

import pytest

from mcpist.tools.tool import Tool
from mcpist_services import NAMES, provider_name, providers
from mcpist_services.catalogue import CATALOGUE
from tests.services.contracts import SPECS, needs_descriptions

# Whose description says which permissions an operation takes; any of them is enough.
DESCRIBED = {"confluence": "confluence", "google_calendar": "google-calendar", "jira": "jira"}
# Jira's description leaves them out; the vendor's page of the operation has them.
UNDESCRIBED = {"getAllBoards"}

TOOLS = [(name, tool) for name in NAMES for tool in CATALOGUE.module(name).tools.values()]
IDS = [f"{name}.{tool.name}" for name, tool in TOOLS]


@cache
def accepted(name: str) -> dict[str, set[str]]:
    """Each operation's permissions."""
    description = json.loads((SPECS / f"{DESCRIBED[name]}.openapi.json").read_text("utf-8"))
    operations = [one for path in description["paths"].values() for one in path.values() if isinstance(one, dict)]
    return {one["operationId"]: _scopes(one.get("security", [])) for one in operations if "operationId" in one}


def _scopes(security: list[dict[str, Any]]) -> set[str]:
    return {scope for way in security for scopes in way.values() for scope in scopes}


@needs_descriptions
@pytest.mark.parametrize(
    ("name", "tool"),
    [one for one in TOOLS if one[0] in DESCRIBED],
    ids=[one for one in IDS if one.partition(".")[0] in DESCRIBED],
)
def test_the_scopes_of_a_tool_are_those_of_its_operation(name: str, tool: Tool) -> None:
    module, takes = CATALOGUE.module(name), accepted(name)[tool.operation]
    own = module.scopes_by_tool[tool.name][-1]  # those before it are of what the tool reads first
    wanted = {own, *module.scopes.implied_by.get(own, ())}
    assert wanted <= takes or (tool.operation in UNDESCRIBED and not takes)


@pytest.mark.parametrize(("name", "tool"), TOOLS, ids=IDS)
def test_all_that_a_tool_needs_is_asked_for(name: str, tool: Tool) -> None:
    module = CATALOGUE.module(name)
    asked = asked_for(name) if module.service else ()
    assert module.missing_scope(tool.name, asked) is None
    assert not module.scopes_by_tool[tool.name] or asked


def asked_for(service: str) -> tuple[str, ...]:
    """What the broker asks the service's provider for."""
    return providers()[provider_name(service)].scopes((service,))
