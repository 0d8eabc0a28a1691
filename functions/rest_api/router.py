"""The routers of powertools, which a room fills with its routes."""

from typing import Any

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse


def new_router() -> Router:
    """Return a router without routes."""
    return Router()  # type: ignore[no-untyped-call]  # powertools leaves its constructor without types


def json_responses(model: Any, **descriptions: str) -> dict[int, OpenAPIResponse]:
    """Return what the document says of responses with this body: `_201="The role was created"`."""
    content: Any = {"application/json": {"model": model}}
    return {int(status[1:]): {"description": text, "content": content} for status, text in descriptions.items()}
