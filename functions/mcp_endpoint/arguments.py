"""What the three meta-tools take: the models of their arguments, and the schemas that clients see."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from mcpist.batch import LEAST_TIMEOUT_SECONDS, MOST_TIMEOUT_SECONDS, TIMEOUT_SECONDS
from mcpist.running.options import Options
from mcpist.tools.schema import schema_of


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class GetModuleSchema(_Arguments):
    """The arguments of `get_module_schema`."""

    modules: list[str] = []
    tools: Annotated[list[str], Field(description="give these tools' full JSON Schemas")] = []
    query: Annotated[str, Field(description="a task in words: only tools that fit it")] = ""
    full: bool = False


# What a schema with every bound would say in three times the tokens.
OPTIONS = {
    "type": "object",
    "description": "timeout: 1-30 s, retry: 0-3 (only what is safe to repeat), retry_delay: 0-10 s",
}


class Call(_Arguments):
    """The arguments of `call`."""

    module: str
    tool: str
    params: dict[str, Any] = {}
    raw_output: bool = False
    options: Annotated[Options, WithJsonSchema(OPTIONS)] = Field(default_factory=Options)


COMMANDS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}


class Batch(_Arguments):
    """The arguments of `batch`."""

    commands: Annotated[str | list[dict[str, Any]], WithJsonSchema(COMMANDS)] = ""
    dry_run: bool = False
    confirm: Annotated[bool, Field(description="the user agrees to what it destroys")] = False
    timeout: Annotated[
        int,
        Field(ge=LEAST_TIMEOUT_SECONDS, le=MOST_TIMEOUT_SECONDS),
        WithJsonSchema({"type": "integer", "description": f"{LEAST_TIMEOUT_SECONDS}-{MOST_TIMEOUT_SECONDS} s"}),
    ] = TIMEOUT_SECONDS
    batch_id: Annotated[str, Field(description="fetch one still running")] = ""
    resume: Annotated[str, Field(description="rerun what failed of this batch_id")] = ""
    again: Annotated[list[str], Field(description="its unknown steps to repeat")] = []


ARGUMENTS: dict[str, type[BaseModel]] = {"get_module_schema": GetModuleSchema, "call": Call, "batch": Batch}
SCHEMAS = {name: schema_of(model) for name, model in ARGUMENTS.items()}
