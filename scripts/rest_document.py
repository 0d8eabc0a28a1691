"""Generate the OpenAPI document from the routes.

Source: https://spec.openapis.org/oas/v3.1.1.html
"""

import json
from typing import Any

from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer, Tag

from mcpist.version import VERSION
from rest_api.idempotency import KEY_HEADER, MAX_KEY_CHARACTERS, WRITING_METHODS
from rest_api.negotiation import PROBLEM_TYPE
from rest_api.page import operations
from rest_api.resolver import RESOLVER, routes
from rest_api.router import ErrorBody, ProblemBody

OPENAPI_VERSION = "3.1.1"
SCHEMA_REF = "#/components/schemas/{model}"
DESCRIPTION = (
    "The tools, batches and files of MCPist for programs that do not speak MCP. Every request acts with the "
    "permissions of the person whose access token it carries; a header `x-mcpist-organization` names one of several "
    "organizations, and `x-mcpist-role` one of several roles."
)
IDEMPOTENCY_KEY = {
    "name": KEY_HEADER,
    "in": "header",
    "description": "A request that is sent again with its key within a day runs once, and has the first answer",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARACTERS},
}
IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "description": "The `etag` of an earlier answer: 304 if nothing has changed",
    "schema": {"type": "string"},
}
IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "The version that the organization must still have: 412 if it has another one",
    "schema": {"type": "string", "pattern": r'^(\*|(W/)?"[0-9]{1,15}")$'},
}
# What no operation declares itself, by its status.
ERRORS = {
    400: "The request has something of a wrong shape",
    401: "No valid access token",
    403: "Not permitted, or switched off",
    404: "Something that the request names does not exist",
    408: "It took too long",
    409: "Something has changed or exists, lacks an account, or the first request with this key is running or was lost",
    412: "The organization has another version than `If-Match` names",
    413: "The request or the answer is too large",
    415: "The body is not of the type that is taken",
    416: "The file has no such range",
    422: "Another request has used this idempotency key",
    428: "A person must agree to it first",
    429: "Too many requests",
    500: "The service refused it, or a defect of ours",
    503: "Something that it needs is unavailable or not set up: try again later",
}
NAMED_ERRORS = {
    "get_file": (416,),
    **dict.fromkeys(("call_tool", "start_batch", "resume_batch", "confirm_batch"), (428,)),
}
USUAL_ERRORS = (400, 401, 403, 404, 408, 413, 429, 500, 503)
WRITING_ERRORS = (409, 422)
HEADERS: dict[str, dict[str, Any]] = {
    "ETag": {"description": "The entity tag, for `If-None-Match` and, of an organization, `If-Match`"},
    "Idempotency-Replayed": {"description": "`true` where an earlier request with this key has had this answer"},
    "Location": {"description": "The address of the batch"},
    "RateLimit": {"description": "How many requests are left in this minute, where they are limited"},
    "RateLimit-Policy": {"description": "The limit of requests in a minute"},
    "Retry-After": {"description": "The seconds after which the request may be sent again"},
    "WWW-Authenticate": {"description": "How to get an access token"},
}
ERROR_HEADERS = {401: "WWW-Authenticate", 403: "WWW-Authenticate", 409: "Retry-After", 429: "Retry-After"}
# powertools documents its own answer to a malformed request; ours is an error like any other.
UNUSED_SCHEMAS = ("HTTPValidationError", "ValidationError", "ResponseValidationError")


def generate() -> str:
    """Return the document as the routes are now."""
    tags: list[Tag | str] = [Tag(name=name) for name in dict.fromkeys(_tags(routes()))]
    text = RESOLVER.get_openapi_json_schema(
        title="MCPist",
        version=VERSION,
        openapi_version=OPENAPI_VERSION,
        description=DESCRIPTION,
        tags=tags,
        security_schemes={"bearer": HTTPBearer()},
        security=[{"bearer": []}],
    )
    return json.dumps(_completed(json.loads(text)), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _tags(routes: list[Any]) -> list[str]:
    return [tag for route in routes if route.include_in_schema for tag in route.tags]


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with what all operations share: errors, headers, keys and conditions of requests."""
    components = document["components"]
    for name in UNUSED_SCHEMAS:
        components["schemas"].pop(name, None)
    for model in (ErrorBody, ProblemBody):
        components["schemas"][model.__name__] = model.model_json_schema(ref_template=SCHEMA_REF)
    components["headers"] = {name: {"schema": {"type": "string"}, **header} for name, header in HEADERS.items()}
    content = {
        media_type: {"schema": {"$ref": SCHEMA_REF.format(model=model.__name__)}}
        for media_type, model in (("application/json", ErrorBody), (PROBLEM_TYPE, ProblemBody))
    }
    components["responses"] = {
        f"Error{status}": {"description": text, "content": content, "headers": _headers(ERROR_HEADERS.get(status, ""))}
        for status, text in ERRORS.items()
    }
    for method, _, operation in operations(document):
        _complete(method.upper(), operation)
    document["servers"] = [{"url": "/"}]
    return document


def _complete(method: str, operation: dict[str, Any]) -> None:
    """Add the parameters and the responses that an operation does not declare itself."""
    responses, parameters = operation["responses"], operation.setdefault("parameters", [])
    responses.pop("422", None)
    is_change = any(one["name"] == "dryRun" for one in parameters) and operation["operationId"] != "start_batch"
    changes_version = is_change and operation["operationId"] not in {"register_module", "delete_module"}
    for status, response in responses.items():
        named = ["ETag"] if method == "GET" or (changes_version and status < "300") else []
        named += ["Idempotency-Replayed"] if method in WRITING_METHODS else []
        named += ["Location"] if operation["tags"] == ["batches"] and method in WRITING_METHODS else []
        response["headers"] = _headers(*named)
    statuses = [*USUAL_ERRORS, *NAMED_ERRORS.get(operation["operationId"], ())]
    if method in WRITING_METHODS:
        parameters.append(IDEMPOTENCY_KEY)
        statuses += WRITING_ERRORS
    else:
        parameters.append(IF_NONE_MATCH)
        statuses.append(409)  # of a module that acts with an account
        responses.setdefault("304", {"description": "The client has it already", "headers": _headers("ETag")})
    if changes_version:
        parameters.append(IF_MATCH)
        statuses.append(412)
    if "requestBody" in operation:
        statuses.append(415)
    for code in sorted(statuses):
        responses[str(code)] = {"$ref": f"#/components/responses/Error{code}"}


def _headers(*names: str) -> dict[str, Any]:
    """Return references to these headers and those of every response."""
    return {
        name: {"$ref": f"#/components/headers/{name}"} for name in (*names, "RateLimit", "RateLimit-Policy") if name
    }
