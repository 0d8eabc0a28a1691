"""Every tool against its vendor's own description: what it sends is allowed, and what it shows is answered."""

from functools import cache
from typing import Any

import pytest

from mcpist.render.answer import compact, compact_json
from mcpist.render.shows import ANY_COLUMN, DONE, PAGE_URL, path_keys
from mcpist.tools.call import Call
from mcpist.tools.tool import PAGING_PARAMETERS, Tool
from mcpist_services.catalogue import CATALOGUE
from tests.services.contracts import CONTRACTED, Vendor, contract, needs_descriptions, path_exists, shown, uses

pytestmark = needs_descriptions

TOOLS = [(name, tool) for name in CONTRACTED for tool in CATALOGUE.module(name).tools.values()]
USES = [
    pytest.param(name, tool, arguments, id=f"{name}.{tool.name} {use}")
    for name, tool in TOOLS
    for use, arguments in uses(tool)
]

for_each_tool = pytest.mark.parametrize(("name", "tool"), TOOLS, ids=[f"{name}.{tool.name}" for name, tool in TOOLS])


@cache
def vendor(name: str) -> Vendor:
    """A module's services; reading their descriptions takes a while."""
    return Vendor(name)


@pytest.mark.parametrize(("name", "tool", "arguments"), USES)
def test_the_request_is_allowed_and_the_answer_is_shown(name: str, tool: Tool, arguments: dict[str, Any]) -> None:
    service = vendor(name)
    raw = service.perform(tool, arguments)
    for item in shown(tool, raw):
        for column in tool.shows.columns:
            for path in column.paths:
                known = (
                    column.name in {ANY_COLUMN, *DONE.fields}
                    or path == PAGE_URL
                    or path_exists(item, list(path_keys(path)))
                )
                whole = ".".join(part for part in (tool.shows.rows and f"{tool.shows.rows}[0]", path) if part)
                assert known or service.shows(tool.operation, whole), f"{path} is not in the answer"
    assert len(compact(raw, tool.shows)) <= len(compact_json(raw))


@for_each_tool
def test_a_tool_requests_the_operation_that_it_declares(name: str, tool: Tool) -> None:
    service = vendor(name)
    service.forget()
    for _, arguments in uses(tool):
        service.perform(tool, arguments)
    assert tool.operation in service.operations


@for_each_tool
def test_all_values_of_an_enumeration_are_the_vendors(name: str, tool: Tool) -> None:
    least = tool.examples[0]["parameters"]
    for parameter, spec in tool.input_schema["properties"].items():
        for value in spec.get("enum", []):
            vendor(name).perform(tool, least | {parameter: value})


@pytest.mark.parametrize("name", CONTRACTED)
def test_the_ways_to_call_a_tool_use_every_argument(name: str) -> None:
    for tool in CATALOGUE.module(name).tools.values():
        used = {argument for _, arguments in uses(tool) for argument in arguments}
        own = set(tool.input_schema["properties"]) - (set(PAGING_PARAMETERS) if tool.paging else set())
        assert used == own, tool.name


@pytest.mark.parametrize("name", CONTRACTED)
def test_a_request_that_the_vendor_does_not_know_is_refused(name: str) -> None:
    with pytest.raises(contract().ContractError):
        vendor(name).send(Call("GET", "/no/such/place"))
