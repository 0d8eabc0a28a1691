"""Prompts: tasks that people often give, with the tools that they need."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel

from mcpist.tools.schema import model_of, parameters_of, schema_of, values_of
from mcpist.tools.tool import Tool
from mcpist.validation import parse_model


@dataclass(frozen=True, eq=False)
class Prompt:
    """A function from arguments, which the protocol sends as text, to the text for the model.

    A caller who may use all its tools may use the prompt.
    """

    module: str
    function: Callable[..., str]
    tools: tuple[Tool, ...]

    @property
    def name(self) -> str:
        """The function's own name."""
        return self.function.__name__

    @property
    def description(self) -> str:
        """The docstring, as people read it."""
        return inspect.getdoc(self.function) or ""

    @cached_property
    def model(self) -> type[BaseModel]:
        """The model that arguments are checked against."""
        return model_of(parameters_of(self.function), f"{self.module}_{self.name}")

    @cached_property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return schema_of(self.model)

    def render(self, arguments: Mapping[str, str]) -> str:
        """Return the text for the model; InvalidRequest names the argument that is wrong."""
        return self.function(**values_of(parse_model(self.model, arguments)))
