"""A list that cannot be made is a typed error, as it is for every other method."""

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from mcp.shared.exceptions import MCPError

from mcp_endpoint.exchange import McpExchange
from mcp_endpoint.protocol import methods
from mcpist.caller import Caller, Role, Subject

CALLER = Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", (Role("members", ("rag",)),))


@pytest.mark.parametrize(
    "method",
    [
        methods.list_tools,
        methods.list_category_tools,
        methods.list_resources,
        methods.list_resource_templates,
        methods.list_prompts,
    ],
)
def test_a_defect_while_listing_shows_no_text_of_an_exception(method: Any) -> None:
    defect = cast("Any", SimpleNamespace(secret="s3cret"))  # a role is expected
    exchange = McpExchange("request-1", time.monotonic() + 10, replace(CALLER, roles=(defect,)))
    with pytest.raises(MCPError) as error:
        method(exchange, None)
    assert error.value.error.data["code"] == "INTERNAL_ERROR"
    assert "SimpleNamespace" not in error.value.error.message
