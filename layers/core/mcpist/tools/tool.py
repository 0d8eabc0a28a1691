"""A tool: one operation of a module; most are declared by a pure function."""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypedDict

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from mcpist.errors import InvalidArguments
from mcpist.render.shows import Shows
from mcpist.tools.call import Call, Work
from mcpist.tools.paging import PageRequest, Paging, pages, paging_parameters
from mcpist.tools.schema import example_of, model_of, parameter_lines, parameters_of, schema_of, values_of
from mcpist.tools.search import Field
from mcpist.validation import field_path, first_error

type Effect = Literal["reads", "writes", "destroys"]

PAGING_PARAMETERS = tuple(inspect.signature(paging_parameters).parameters)


class ModuleMetadata(TypedDict, total=False):
    """What is said of a whole module, and of a tool only where it differs."""

    version: str
    category: str
    author: str
    tags: tuple[str, ...]


class Example(TypedDict):
    """One use of a tool."""

    description: str
    parameters: dict[str, Any]
    expectedResult: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool(ABC):
    """What every tool has; `shows` is what its answers hold.

    `operation` is the vendor's name of what it stands for. A tool with `paging` describes the first page of a list. A
    tool that `reveals` shows secrets. Its answers may be kept for `cache_seconds`.
    """

    module: str
    effect: Effect
    shows: Shows
    about: ModuleMetadata
    operation: str = ""
    idempotent: bool = False
    reveals: bool = False
    paging: Paging | None = None
    cache_seconds: int = 0

    @property
    @abstractmethod
    def name(self) -> str:
        """What it is called by, in its module."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What it does, as the model reads it."""

    @property
    @abstractmethod
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""

    @property
    @abstractmethod
    def signature(self) -> str:
        """Its name, parameters and answer in one line."""

    @property
    def output_schema(self) -> dict[str, Any]:
        """What the compact answer holds: `{format, fields}`."""
        return {"format": self.shows.format, "fields": self.shows.fields}

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.effect == "reads"

    @property
    def words(self) -> dict[Field, str]:
        """What it is found by."""
        names = [*self.input_schema.get("properties", {}), *self.shows.fields, *self.about.get("tags", ())]
        return {
            "name": self.name,
            "service": self.module,
            "description": self.description,
            "parameters": " ".join(names),
        }

    @property
    def examples(self) -> list[Example]:
        """Uses of it, where any are known."""
        return []

    @abstractmethod
    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with defaults, or InvalidArguments with the tool's schema for the next try."""

    @abstractmethod
    def check(self, arguments: Mapping[str, Any], unresolved: Collection[str]) -> None:
        """Refuse what is wrong already, while the values of the `unresolved` fields are not known yet."""

    @abstractmethod
    def describe_work(self, arguments: Mapping[str, Any]) -> Work:
        """The work that these arguments, once validated, stand for."""

    def invalid(self, field: str, problem: str) -> InvalidArguments:
        """What is wrong with its arguments, with the schema."""
        return InvalidArguments(
            module=self.module, tool=self.name, field=field, problem=problem, schema=self.input_schema
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class DeclaredTool(Tool):
    """A function's signature is the schema, its docstring the description; each is unique.

    `uses` are optional arguments that make an example, for a tool that needs one of several.
    """

    function: Callable[..., Work]
    uses: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """The docstring, as the model reads it."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def arguments(self) -> type[BaseModel]:
        """The model that arguments are checked against, built when it is first needed."""
        parameters = parameters_of(self.function) + (parameters_of(paging_parameters) if self.paging else [])
        return model_of(parameters, f"{self.module}_{self.name}")

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return schema_of(self.arguments)

    @cached_property
    def signature(self) -> str:
        """One line: `get_issue(owner, repo, number: integer, state?: open|closed) -> fields`; lists end in `paging`."""
        own = parameter_lines(self.input_schema, leave_out=PAGING_PARAMETERS if self.paging else ())
        parameters = ", ".join([*own, *(["...paging"] if self.paging else [])])
        return f"{self.name}({parameters}) -> {', '.join(self.shows.fields)}"

    @cached_property
    def examples(self) -> list[Example]:
        """The least call; where the declaration gives `uses`, that with each of them instead."""
        properties, required = self.input_schema["properties"], self.input_schema.get("required", [])
        least = {name: example_of(properties[name]) for name in required}
        brings = f"{self.shows.format}: {', '.join(self.shows.fields)}"
        first = self.description.partition("\n")[0]
        uses = [{**least, **use} for use in self.uses or ({},)]
        return [Example(description=first, parameters=use, expectedResult=brings) for use in uses]

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with defaults, or InvalidArguments with the tool's schema for the next try."""
        try:
            model = self.arguments.model_validate(arguments)
        except ValidationError as error:
            raise self._invalid(first_error(error)) from None
        return values_of(model)

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
        return self.invalid(
            field_path(problem["loc"], "params"), "there is no such field" if unknown else problem["msg"]
        )

    def describe_work(self, arguments: Mapping[str, Any]) -> Work:
        """The work that these arguments, once validated, stand for."""
        if self.paging is None:
            return self.function(**arguments)
        own = {name: value for name, value in arguments.items() if name not in PAGING_PARAMETERS}
        page_request = PageRequest(**{name: arguments[name] for name in PAGING_PARAMETERS})
        first = self.function(**own)
        if not isinstance(first, Call):
            raise TypeError(f"{self.module}.{self.name} is a list, and describes no first page")
        return pages(self.module, first, self.paging, self.shows.rows, page_request)
