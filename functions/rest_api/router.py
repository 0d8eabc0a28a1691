"""The routers of powertools, which a room fills with its routes, and the base of all bodies: fields in camel case."""

from collections.abc import Callable
from datetime import date, datetime
from inspect import cleandoc
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.api_gateway import Router
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel
from pydantic_core import to_jsonable_python

from mcpist.paging import MAX_PAGE_ITEMS


def _written(value: Any) -> Any:
    """Refuse a number, which pydantic reads as seconds: a moment is written as the document says."""
    if isinstance(value, str) and "-" not in value.lstrip("-"):
        raise ValueError("it is no date such as 2026-01-31")
    return value


SearchText = Annotated[str, Query(max_length=256, description="Only what has this text in its names")]
Cursor = Annotated[str, Query(max_length=1_024, description="The cursor of the page before")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE_ITEMS, description="The most items of a page")]

Moment = Annotated[datetime, BeforeValidator(_written)]
Day = Annotated[date, BeforeValidator(_written)]

BODY_LEVELS = 10  # around a value in a body

RequestId = Annotated[str, Field(alias="request_id", description="The id under which the log knows the request")]


class Body(BaseModel):
    """A part of a response."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


class RequestBody(BaseModel):
    """A part of a request; unknown fields are refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class AdministrationRequest(BaseModel):
    """The same with fields in snake case, as the file that `mcpist org export` writes has them."""

    model_config = ConfigDict(extra="forbid")


class PageBody(BaseModel):
    """A page of a list."""

    cursor: Annotated[str, Field(description="Where the next page begins; empty on the last page")]
    total: Annotated[int, Field(ge=0, description="The number of items on all pages")]


class ErrorBody(Body):
    """The answer of every request that fails."""

    success: Annotated[bool, Field(json_schema_extra={"const": False})] = False
    error: Annotated[str, Field(description="What happened, safe to show")]
    code: Annotated[str, Field(description="A stable code, see docs/errors.md")]
    hint: Annotated[str, Field(description="What to do")]
    details: dict[str, object] | None = None
    request_id: RequestId


class ProblemBody(BaseModel):
    """The same as problem details (RFC 9457), for requests that accept them."""

    type: Annotated[str, Field(description="An address that describes the code")]
    title: str
    status: int
    detail: Annotated[str, Field(description="What happened, safe to show")]
    code: str
    hint: str
    details: dict[str, object] | None = None
    request_id: str


def is_too_deep(value: Any) -> bool:
    """Whether JSON is nested too deeply for a body: pydantic writes some 250 levels."""
    for _ in range(BODY_LEVELS):
        value = [value]
    try:
        to_jsonable_python(value)
    except ValueError:
        return True
    return False


class Operations(Router):
    """A router whose operations share a tag of the document, if they are in it."""

    def __init__(self, tag: str = "") -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # powertools leaves its constructor without types
        self._tag = tag

    def operation[Function: Callable[..., Any]](
        self, method: str, rule: str, summary: str, responses: Any = None, *, tag: str = "", **options: Any
    ) -> Callable[[Function], Function]:
        """Declare an operation, whose id is the name of its function; `tag` stands in place of the router's."""

        def declare(function: Function) -> Function:
            named = {
                "tags": [tag or self._tag],
                "operation_id": function.__name__,
                "summary": summary,
                "description": cleandoc(function.__doc__ or ""),
                "responses": responses,
            }
            return self.route(rule, method, **named, **options)(function)

        return declare


def body_of[Model: BaseModel](model: type[Model], source: object, /, **more: Any) -> Model:
    """Return a body with the attributes of a value that have its fields' names, and with `more`."""
    own = {name: getattr(source, name) for name in model.model_fields if name not in more}
    return model.model_validate(own | more)


def json_responses(model: Any, **descriptions: str) -> dict[int, OpenAPIResponse]:
    """Return the document's entries for responses with this body: `_201="The role was created"`."""
    content: Any = {"application/json": {"model": model}}
    return {int(status[1:]): {"description": text, "content": content} for status, text in descriptions.items()}
