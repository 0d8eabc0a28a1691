"""Generate the OpenAPI document from the routes.

Source: https://spec.openapis.org/oas/v3.1.1.html
"""

import json
from typing import Any

from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer, Tag

from mcpist.version import VERSION
from rest_api.idempotency import KEY_HEADER, MAX_KEY_CHARACTERS, WRITING_METHODS
from rest_api.page import operations
from rest_api.resolver import RESOLVER, routes
from rest_api.router import ErrorBody

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
KEYED_RESPONSES = {
    "409": "Something has changed or exists, or the first request with this key is running (`Retry-After`) or was lost",
    "422": "Another request has used this idempotency key",
}
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
    return json.dumps(_with_errors(json.loads(text)), indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def _tags(routes: list[Any]) -> list[str]:
    return [tag for route in routes if route.include_in_schema for tag in route.tags]


def _with_errors(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document in which every operation may answer with our error, and writing ones take a key."""
    schemas = document["components"]["schemas"]
    for name in UNUSED_SCHEMAS:
        schemas.pop(name, None)
    schemas["ErrorBody"] = ErrorBody.model_json_schema(ref_template=SCHEMA_REF)
    content = {"application/json": {"schema": {"$ref": SCHEMA_REF.format(model="ErrorBody")}}}
    for method, _, operation in operations(document):
        operation["responses"].pop("422", None)
        if method.upper() in WRITING_METHODS:
            operation["parameters"] = [*operation.get("parameters", ()), IDEMPOTENCY_KEY]
            for status, description in KEYED_RESPONSES.items():
                operation["responses"][status] = {"description": description, "content": content}
        operation["responses"]["default"] = {"description": "An error: see docs/errors.md", "content": content}
    document["servers"] = [{"url": "/"}]
    return document
