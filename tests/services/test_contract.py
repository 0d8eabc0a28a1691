"""Every tool against its vendor's own description: what it sends is allowed, and what it shows is answered."""

from functools import cache
from typing import Any

import pytest

from mcpist.tools.declare.call import Call
from mcpist.tools.declare.tool import PAGING_PARAMETERS, Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each
from tests.services.checks import check_columns, check_operation, check_other_values, check_use, check_values
from tests.services.contracts import CONTRACTED, DESCRIPTIONS, MISSING, SPECS, Vendor, needs_descriptions, uses
from tests.services.descriptions.contract import ContractError
from tests.services.senses import SENSES

TOOLS = {f"{name}.{tool.name}": (name, tool) for name in CONTRACTED for tool in CATALOGUE.module(name).tools.values()}
USES = {
    f"{place} {use}": (name, tool, arguments) for place, (name, tool) in TOOLS.items() for use, arguments in uses(tool)
}

for_each_tool = for_each("name, tool", TOOLS)
for_each_module = for_each("name", CONTRACTED)


def test_every_service_has_its_vendors_description() -> None:
    hosts = {name for name in NAMES if CATALOGUE.module(name).host}
    assert hosts == set(DESCRIPTIONS), "name it in tests/services/contracts.py and descriptions/sources.toml"


@needs_descriptions
def test_no_description_is_missing() -> None:
    assert not MISSING, f"run `make contracts`, which needs the internet: nothing in {SPECS} describes {MISSING}"


@cache
def vendor(name: str) -> Vendor:
    """A module's services; reading their descriptions takes a while."""
    return Vendor(name)


@needs_descriptions
@for_each("name, tool, arguments", USES)
def test_the_requests_are_allowed_and_the_answer_is_shown(name: str, tool: Tool, arguments: dict[str, Any]) -> None:
    check_use(vendor(name), tool, arguments)


@needs_descriptions
@for_each_tool
def test_a_tool_requests_the_operation_that_it_declares(name: str, tool: Tool) -> None:
    check_operation(vendor(name), tool)


@needs_descriptions
@for_each_tool
def test_all_values_of_an_enumeration_are_the_vendors(name: str, tool: Tool) -> None:
    check_values(vendor(name), tool)


@needs_descriptions
@for_each_tool
def test_a_value_outside_of_an_enumeration_is_refused(name: str, tool: Tool) -> None:
    check_other_values(vendor(name), tool)


@needs_descriptions
@for_each_tool
def test_each_column_shows_a_field_of_its_own(name: str, tool: Tool) -> None:
    check_columns(vendor(name), tool)


@for_each_module
def test_the_ways_to_call_a_tool_use_every_argument(name: str) -> None:
    for tool in CATALOGUE.module(name).tools.values():
        used = {argument for _, arguments in uses(tool) for argument in arguments}
        own = set(tool.input_schema["properties"]) - (set(PAGING_PARAMETERS) if tool.paging else set())
        unused = f"{tool.name}: no example uses {own - used}, since they exclude each other: add a use to the decorator"
        assert used == own, unused


@needs_descriptions
@for_each_module
def test_a_request_that_the_vendor_does_not_know_is_refused(name: str) -> None:
    with pytest.raises(ContractError):
        vendor(name).send(Call("GET", "/no/such/place"))


@for_each("name", SENSES.keys())
def test_a_request_means_what_its_tool_says(name: str) -> None:
    for check in SENSES[name].values():
        check(CATALOGUE.module(name))
