"""The OpenAPI document, as `GET /v1/openapi.json` answers it: a file that `make docs` writes."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from aws_lambda_powertools.event_handler import Response

from rest_api.exchange import current
from rest_api.router import new_router

FILE = Path(__file__).parent / "openapi.json"

router = new_router()


@router.get("/v1/openapi.json", include_in_schema=False)
def get_document() -> Response[Any]:
    """Return the document with the address of this API."""
    content = {**document(), "servers": [{"url": current().request.public_url}]}
    headers = {"cache-control": "public, max-age=300"}
    return Response(200, "application/json", json.dumps(content, ensure_ascii=False), headers=headers)


@cache
def document() -> dict[str, Any]:
    """Return the document as the file has it."""
    content: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    return content


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Return each operation of a document with its method and path."""
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
