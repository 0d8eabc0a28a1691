"""The suite's tools that talk to their client before they answer, which a Lambda function cannot do: they are tried."""

from typing import Any

from mcp_endpoint.suite.results import text
from mcp_types import CallToolRequestParams, SamplingMessage, TextContent

from mcp_endpoint.tasks import Context


async def test_tool_with_progress(context: Context, params: CallToolRequestParams) -> Any:
    for progress in (0, 50, 100):
        await context.session.report_progress(progress, 100)
    return text(f"{params.name} is done")


async def test_sampling(context: Context, params: CallToolRequestParams) -> Any:
    asked = TextContent(type="text", text=(params.arguments or {})["prompt"])
    answer = await context.session.create_message([SamplingMessage(role="user", content=asked)], max_tokens=100)
    return text(f"LLM response: {answer.model_dump_json()}")


async def test_elicitation(context: Context, params: CallToolRequestParams) -> Any:
    schema = {"type": "object", "properties": {"username": {"type": "string"}, "email": {"type": "string"}}}
    return await _elicit(context, (params.arguments or {})["message"], schema)


async def test_elicitation_sep1034_defaults(context: Context, params: CallToolRequestParams) -> Any:
    schema = {"type": "object", "properties": {"verified": {"type": "boolean", "default": True}}}
    return await _elicit(context, params.name, schema)


async def test_elicitation_sep1330_enums(context: Context, params: CallToolRequestParams) -> Any:
    schema = {"type": "object", "properties": {"untitled": {"type": "string", "enum": ["option1", "option2"]}}}
    return await _elicit(context, params.name, schema)


async def _elicit(context: Context, message: str, schema: dict[str, Any]) -> Any:
    answer = await context.session.elicit_form(message, schema)
    return text(f"Elicitation completed: {answer.model_dump_json()}")


TOOLS = (
    *(test_tool_with_progress, test_sampling, test_elicitation),
    *(test_elicitation_sep1034_defaults, test_elicitation_sep1330_enums),
)
