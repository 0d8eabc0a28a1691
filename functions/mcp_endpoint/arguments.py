"""The arguments of the three meta-tools: their models, and the schemas that clients see."""

import json
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from mcpist.batch.options import BatchOptions, brief_schemas
from mcpist.running.options import RunOptions
from mcpist.tools.declare import tolerance
from mcpist.tools.declare.schema import schema_of
from mcpist.tools.declare.tolerance import TolerantModel


class _Arguments(TolerantModel):
    model_config = ConfigDict(extra="forbid")


def _read_object(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value or "{}")
    except ValueError as error:
        raise PydanticCustomError("json", "it is not JSON ({problem})", {"problem": str(error)}) from None
    if not isinstance(read, dict):
        raise PydanticCustomError("json", "it is not a JSON object")
    return read


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _as_lines(value: Any) -> Any:
    """Return one step as a list of it, and a list of JSON texts as JSON Lines."""
    if isinstance(value, dict):
        return [value]
    is_of_lines = isinstance(value, list) and all(isinstance(line, str) for line in value)
    return "\n".join(value) if is_of_lines else value


JsonObject = Annotated[dict[str, Any], BeforeValidator(_read_object)]
"""A JSON object; some models send it as JSON text."""
Names = Annotated[list[str], BeforeValidator(_as_list)]
"""A list of names; some models send one name as it is."""


class GetModuleSchemaArguments(_Arguments):
    """The arguments of `get_module_schema`."""

    modules: Names = []
    tools: Annotated[Names, Field(description="tools' full Schemas")] = []
    query: Annotated[str, Field(description="a task in words")] = ""
    full: bool = False


# In place of a schema with every bound, which would need three times the tokens.
OPTIONS_SCHEMA = {
    "type": "object",
    "description": "timeout: 1-30 s, retry: 0-3, retry_delay: 0-10 s, as_file, max_tokens, account, format, undoable",
}


def _require_module(schema: dict[str, Any]) -> None:
    """Demand the module in the schema; a call without one may name it in its tool."""
    del schema["properties"]["module"]["default"]
    schema["required"] = ["module", "tool"]


class CallArguments(_Arguments):
    """The arguments of `call`."""

    model_config = ConfigDict(json_schema_extra=_require_module)

    module: str = ""
    tool: Annotated[str, Field(validation_alias=tolerance.TOOL)]
    params: Annotated[JsonObject, Field(validation_alias=tolerance.PARAMS)] = {}
    raw_output: bool = False
    dry_run: bool = False
    confirm: bool = False
    options: Annotated[RunOptions, WithJsonSchema(OPTIONS_SCHEMA)] = Field(default_factory=RunOptions)


COMMANDS_SCHEMA = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "object"}}]}


class BatchArguments(_Arguments, BatchOptions):
    """The arguments of `batch`."""

    commands: Annotated[
        str | list[dict[str, Any]],
        BeforeValidator(_as_lines),
        Field(validation_alias=tolerance.COMMANDS),
        WithJsonSchema(COMMANDS_SCHEMA),
    ] = ""
    dry_run: bool = False
    confirm: Annotated[bool, Field(description="user agrees")] = False
    batch_id: Annotated[str, Field(description="one running")] = ""
    resume: Annotated[str, Field(description="rerun this batch_id")] = ""
    again: Annotated[Names, Field(description="unknown steps")] = []
    undo: Annotated[str, Field(description="batch, change or time")] = ""
    anyway: bool = False


REQUEST_MODELS: dict[str, type[BaseModel]] = {
    "get_module_schema": GetModuleSchemaArguments,
    "call": CallArguments,
    "batch": BatchArguments,
}
INPUT_SCHEMAS = {name: schema_of(model) for name, model in REQUEST_MODELS.items()}
INPUT_SCHEMAS["batch"]["properties"] = brief_schemas(INPUT_SCHEMAS["batch"]["properties"])
