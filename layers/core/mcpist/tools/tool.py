"""A tool: one operation of a module, declared by a pure function."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mcpist.errors import InvalidArguments
from mcpist.render.shows import Shows
from mcpist.tools.call import Work
from mcpist.tools.schema import model_of, one_line, schema_of

type Effect = Literal["reads", "writes", "destroys"]


@dataclass(frozen=True, eq=False)
class Tool:
    """A function's signature is the schema, its docstring the description, `shows` the answer; each is unique."""

    module: str
    function: Callable[..., Work]
    effect: Effect
    shows: Shows
    idempotent: bool
    reveals: bool

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """The docstring, as the model reads it."""
        return inspect.getdoc(self.function) or ""

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.effect == "reads"

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The model that arguments are checked against, built when it is first needed."""
        return model_of(self.function, f"{self.module}_{self.name}")

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return schema_of(self.arguments)

    @property
    def output_schema(self) -> dict[str, Any]:
        """What the compact answer holds: `{format, fields}`."""
        return {"format": self.shows.format, "fields": self.shows.fields}

    @cached_property
    def signature(self) -> str:
        """One line: `get_issue(owner, repo, number: integer, state?: open|closed) -> fields`."""
        return f"{self.name}({one_line(self.input_schema)}) -> {', '.join(self.shows.fields)}"

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with defaults, or InvalidArguments with the tool's schema for the next try."""
        try:
            model = self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise self._invalid(error.errors(include_url=False)[0]) from None
        return {str(field.alias): getattr(model, name) for name, field in type(model).model_fields.items()}

    def check(self, arguments: Mapping[str, Any], unresolved: Collection[str]) -> None:
        """Refuse what is wrong already, while the values of the `unresolved` fields are not known yet."""
        known = {name: value for name, value in arguments.items() if name not in unresolved}
        unknown = {name: None for name in unresolved if name not in self.input_schema["properties"]}
        try:
            self.arguments.model_validate(known | unknown)
        except ValidationError as error:
            for problem in error.errors(include_url=False):
                if problem["type"] != "missing" or problem["loc"][0] not in unresolved:
                    raise self._invalid(problem) from None

    def _invalid(self, problem: ErrorDetails) -> InvalidArguments:
        unknown = problem["type"] == "extra_forbidden"
        return InvalidArguments(
            module=self.module,
            tool=self.name,
            field=".".join(map(str, problem["loc"])) or "params",
            problem="there is no such field" if unknown else problem["msg"],
            schema=self.input_schema,
        )

    def describe_work(self, arguments: Mapping[str, Any]) -> Work:
        """The work that these arguments, once validated, stand for."""
        return self.function(**arguments)
