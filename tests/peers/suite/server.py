"""The endpoint's server with the suite's tools, prompts and resources beside its own."""

import json
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from mcp.server.lowlevel import Server
from mcp_endpoint.suite import jobs, questions, streams
from mcp_endpoint.suite.results import IMAGE, PNG, WAV, blocks, form, resource, text
from mcp_types import (
    CallToolRequestParams,
    CompleteRequestParams,
    GetPromptRequestParams,
    ListPromptsResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    ReadResourceRequestParams,
    Resource,
    Tool,
)

from mcp_endpoint import tasks
from mcp_endpoint.exchange import McpExchange, SyncHandler
from mcp_endpoint.protocol import methods
from mcp_endpoint.tasks import Context

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
IN_A_HEADER = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
ANSWERS: dict[str, Any] = {
    "test_simple_text": text("This is a simple text response for testing."),
    "test_logging_tool": text("It logs nothing."),
    "test_image_content": blocks(IMAGE),
    "test_audio_content": blocks({"type": "audio", "data": WAV, "mimeType": "audio/wav"}),
    "test_embedded_resource": blocks(resource("test://embedded-resource", "text/plain", "This is embedded.")),
    "test_multiple_content_types": blocks(
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ),
    "test_error_handling": text("This tool intentionally returns an error for testing", is_error=True),
    "json_schema_2020_12_tool": text("valid"),
    "test_header": text("It takes an argument from a header."),
}
SCHEMAS = {"json_schema_2020_12_tool": SCHEMA, "test_header": IN_A_HEADER}
FUNCTIONS: dict[str, Any] = {tool.__name__: tool for tool in (*jobs.TOOLS, *questions.TOOLS, *streams.TOOLS)}

ARGUMENTS = {
    "test_simple_prompt": (),
    "test_prompt_with_arguments": ("arg1", "arg2"),
    "test_prompt_with_embedded_resource": ("resourceUri",),
    "test_prompt_with_image": (),
    "test_input_required_result_prompt": (),
}
CONTENTS = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
}
DESCRIPTION = "As the suite asks for it"
TEMPLATE = "test://template/"


def extend(server: Server[Any]) -> Server[Any]:
    """Return the server with more handlers, which pass on what is not the suite's."""
    server.get_tool_input_schema = find_schema
    for method, params, handler in HANDLERS:
        server.add_request_handler(method, params, handler)
    tasks.install(server, get=jobs.get, update=jobs.update, cancel=jobs.cancel)
    return server


@dataclass(frozen=True)
class ToolCalls(SyncHandler[CallToolRequestParams, Any]):
    """Calls of tools, some of which need the kernel's context: none of their requests is plain."""

    async def __call__(self, context: Context, params: CallToolRequestParams) -> Any:
        if params.name not in FUNCTIONS:
            return await super().__call__(context, params)
        result = FUNCTIONS[params.name](context, params)
        return await result if isawaitable(result) else result


def find_schema(name: str) -> dict[str, Any] | None:
    return SCHEMAS.get(name, {} if name in FUNCTIONS else None)


def list_tools(exchange: McpExchange, params: PaginatedRequestParams | None) -> ListToolsResult:
    own = methods.list_tools(exchange, params).tools
    names = (*ANSWERS, *FUNCTIONS)
    return ListToolsResult(
        tools=[
            *own,
            *(
                Tool(name=name, description=DESCRIPTION, input_schema=SCHEMAS.get(name, {"type": "object"}))
                for name in names
            ),
        ]
    )


def call_tool(exchange: McpExchange, params: CallToolRequestParams) -> Any:
    return ANSWERS[params.name] if params.name in ANSWERS else methods.call_tool(exchange, params)


def list_prompts(exchange: McpExchange, params: PaginatedRequestParams | None) -> ListPromptsResult:
    own = methods.list_prompts(exchange, params).prompts
    suite = [
        Prompt(
            name=name,
            description=DESCRIPTION,
            arguments=[PromptArgument(name=argument, required=True) for argument in arguments],
        )
        for name, arguments in ARGUMENTS.items()
    ]
    return ListPromptsResult(prompts=[*own, *suite])


def get_prompt(exchange: McpExchange, params: GetPromptRequestParams) -> Any:
    given = params.arguments or {}
    match params.name:
        case "test_simple_prompt":
            return _messages({"type": "text", "text": "This is a simple prompt for testing."})
        case "test_prompt_with_arguments":
            says = f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"
            return _messages({"type": "text", "text": says})
        case "test_prompt_with_embedded_resource":
            embedded = resource(given["resourceUri"], "text/plain", "Embedded resource content for testing.")
            return _messages(embedded, {"type": "text", "text": "Please process the embedded resource above."})
        case "test_prompt_with_image":
            return _messages(IMAGE, {"type": "text", "text": "Please analyze the image above."})
        case "test_input_required_result_prompt" if not params.input_responses:
            return {"resultType": "input_required", "inputRequests": {"user_context": form("context")}}
        case "test_input_required_result_prompt":
            return _messages({"type": "text", "text": "The context is there."})
    return methods.get_prompt(exchange, params)


def list_resources(exchange: McpExchange, params: PaginatedRequestParams | None) -> ListResourcesResult:
    own = methods.list_resources(exchange, params)
    suite = [Resource(name=uri, uri=uri, mime_type=content["mimeType"]) for uri, content in CONTENTS.items()]
    return own.model_copy(update={"resources": [*own.resources, *suite]})


def read_resource(exchange: McpExchange, params: ReadResourceRequestParams) -> Any:
    if params.uri in CONTENTS:
        return _contents(params.uri, **CONTENTS[params.uri])
    if params.uri.startswith(TEMPLATE):
        given = params.uri.removeprefix(TEMPLATE).partition("/")[0]
        made = {"id": given, "templateTest": True, "data": f"Data for ID: {given}"}
        return _contents(params.uri, mimeType="application/json", text=json.dumps(made))
    return methods.read_resource(exchange, params)


def complete(exchange: McpExchange, params: CompleteRequestParams) -> Any:
    if getattr(params.ref, "name", "") in ARGUMENTS:
        return {"resultType": "complete", "completion": {"values": ["testing"], "total": 1, "hasMore": False}}
    return methods.complete(exchange, params)


def _messages(*contents: dict[str, Any]) -> dict[str, Any]:
    return {"resultType": "complete", "messages": [{"role": "user", "content": content} for content in contents]}


def _contents(uri: str, **content: str) -> dict[str, Any]:
    return {"resultType": "complete", "contents": [{"uri": uri, **content}], "ttlMs": 0, "cacheScope": "private"}


HANDLERS: tuple[tuple[str, Any, Any], ...] = (
    ("tools/list", PaginatedRequestParams, SyncHandler(list_tools)),
    ("tools/call", CallToolRequestParams, ToolCalls(call_tool)),
    ("prompts/list", PaginatedRequestParams, SyncHandler(list_prompts)),
    ("prompts/get", GetPromptRequestParams, SyncHandler(get_prompt)),
    ("resources/list", PaginatedRequestParams, SyncHandler(list_resources)),
    ("resources/read", ReadResourceRequestParams, SyncHandler(read_resource)),
    ("completion/complete", CompleteRequestParams, SyncHandler(complete)),
)
