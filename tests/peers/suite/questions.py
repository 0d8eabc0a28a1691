"""The suite's tools that need input first: the questions, and their states in the endpoint's own store."""

from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_endpoint.suite.results import ROOTS, form, sampling, text
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY, CallToolRequestParams

from mcp_endpoint.exchange import exchange_of
from mcp_endpoint.protocol.methods import protocol_error
from mcp_endpoint.tasks import Context
from mcpist.errors import StaleConfirmation
from mcpist.people import questions

type Asked = dict[str, dict[str, Any]]


def test_input_required_result_elicitation(context: Context, params: CallToolRequestParams) -> Any:
    return _once(context, params, {"user_name": form("name")})


def test_input_required_result_sampling(context: Context, params: CallToolRequestParams) -> Any:
    return _once(context, params, {"capital_question": sampling("What is the capital of France?")})


def test_input_required_result_list_roots(context: Context, params: CallToolRequestParams) -> Any:
    return _once(context, params, {"client_roots": ROOTS})


def test_input_required_result_request_state(context: Context, params: CallToolRequestParams) -> Any:
    return _rounds(context, params, {"confirm": form("ok", "boolean")})


def test_input_required_result_tampered_state(context: Context, params: CallToolRequestParams) -> Any:
    return _rounds(context, params, {"confirm": form("ok", "boolean")})


def test_input_required_result_multiple_inputs(context: Context, params: CallToolRequestParams) -> Any:
    asked = {"user_name": form("name"), "greeting": sampling("Generate a greeting"), "client_roots": ROOTS}
    return _rounds(context, params, asked)


def test_input_required_result_multi_round(context: Context, params: CallToolRequestParams) -> Any:
    return _rounds(context, params, {"step1": form("name")}, {"step2": form("color")})


def test_input_required_result_capabilities(context: Context, params: CallToolRequestParams) -> Any:
    can = context.session.client_capabilities
    offered = {"elicitation": form("name"), "sampling": sampling("Generate a greeting"), "roots": ROOTS}
    return _once(context, params, {name: asked for name, asked in offered.items() if getattr(can, name, None)})


def test_missing_capability(context: Context, params: CallToolRequestParams) -> Any:
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        required = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "Missing required client capability", required)
    return text(f"{params.name}: the client can sample")


def test_streaming_elicitation(context: Context, params: CallToolRequestParams) -> Any:
    return _once(context, params, {"user_name": form("name")})


def _once(_: Context, params: CallToolRequestParams, asked: Asked) -> Any:
    """Ask until all answers are there; nothing is kept."""
    replies = params.input_responses or {}
    if set(asked) <= set(replies):
        return text(", ".join(f"{name}: {replies[name].model_dump_json()}" for name in asked))
    return {"resultType": "input_required", "inputRequests": asked}


def _rounds(context: Context, params: CallToolRequestParams, *rounds: Asked) -> Any:
    """Ask round by round; the state is a question of the endpoint's store, and good for this tool and caller alone."""
    exchange, replies = exchange_of(context), params.input_responses or {}
    caller = exchange.caller
    digest, number = questions.digest_of(caller, params.name), 0
    if params.request_state:
        try:
            number = questions.load(caller, params.request_state, digest).context["round"]
        except StaleConfirmation as error:
            raise protocol_error(exchange, error) from None
        if set(rounds[number]) <= set(replies):
            number += 1
    if number == len(rounds):
        return text("state-ok")
    state = questions.save(caller, digest, {"round": number}, kind="connect")
    return {"resultType": "input_required", "inputRequests": rounds[number], "requestState": state}


TOOLS = (
    test_input_required_result_elicitation,
    test_input_required_result_sampling,
    test_input_required_result_list_roots,
    test_input_required_result_request_state,
    test_input_required_result_tampered_state,
    test_input_required_result_multiple_inputs,
    test_input_required_result_multi_round,
    test_input_required_result_capabilities,
    test_missing_capability,
    test_streaming_elicitation,
)
