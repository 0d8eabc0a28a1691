"""The OpenAPI document as the file that `make docs` writes has it, and the page that shows it without scripts."""

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from aws_lambda_powertools.event_handler import Response

from mcpist.errors import concrete_errors
from rest_api.exchange import current
from rest_api.router import Operations

FOLDER = Path(__file__).parent
FILE = FOLDER / "openapi.json"

router = Operations()


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


@router.get("/v1/docs", include_in_schema=False)
def get_page() -> Response[str]:
    """Return the page."""
    return Response(200, "text/html; charset=utf-8", render(), headers=_headers())


@cache
def render() -> str:
    """Return the document as a page; every text is escaped."""
    from jinja2 import ChainableUndefined, Environment  # no other request needs it
    from markupsafe import Markup

    # What an operation does not have, such as parameters, is empty in the page.
    templates = Environment(autoescape=True, undefined=ChainableUndefined, trim_blocks=True)
    templates.filters |= {
        # Of a parameter, whose title says its name again.
        "shape": lambda schema: json.dumps({key: value for key, value in schema.items() if key != "title"}),
        "indented": lambda schema: json.dumps(schema, indent=2, ensure_ascii=False),
    }
    template = templates.from_string((FOLDER / "page.html").read_text("utf-8"))
    style = Markup(_style())  # noqa: S704  # nosec B704 - a file of ours
    # Of several errors with a code the first one is drawn above the others.
    codes = {
        error.code: (error.code, error.status, error.template("en").hint) for error in reversed([*concrete_errors()])
    }
    errors = sorted(codes.values())
    return template.render(document(), operations=operations(document()), style=style, errors=errors)


@cache
def _style() -> str:
    return (FOLDER / "page.css").read_text("utf-8")


def _headers() -> dict[str, str]:
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return {
        "cache-control": "public, max-age=300",
        "content-security-policy": (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        ),
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }
