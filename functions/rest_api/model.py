"""The base of all bodies: fields in camel case, as programs in most languages write them."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

RequestId = Annotated[str, Field(alias="request_id", description="The id under which the log knows the request")]


class Body(BaseModel):
    """A part of a response."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, serialize_by_alias=True)


class RequestBody(BaseModel):
    """A part of a request; unknown fields are refused."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class ErrorBody(Body):
    """The answer of every request that fails."""

    success: Annotated[bool, Field(json_schema_extra={"const": False})] = False
    error: Annotated[str, Field(description="What happened, safe to show")]
    code: Annotated[str, Field(description="A stable code, see docs/errors.md")]
    hint: Annotated[str, Field(description="What to do")]
    details: dict[str, object] | None = None
    request_id: RequestId
