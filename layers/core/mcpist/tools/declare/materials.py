"""Resources, which are addresses that mean a reading tool with certain arguments, and prompts, which are tasks."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import quote, unquote

from pydantic import BaseModel

from mcpist.patterns import compile_pattern
from mcpist.toml_table import toml_beside
from mcpist.tools.declare.schema import model_of, parameters_of, schema_of, values_of
from mcpist.tools.declare.tool import Tool
from mcpist.validation import parse_model
from mcpist.visible_text import visible

_VARIABLE = re.compile(r"\{(\+?)(\w+)\}")


# What an expression of a template can become, by its operator (RFC 6570).
_EXPRESSION = re.compile(r"\{([+#./;?&]?)[^{}]*\}")
_EXPANSIONS = {"+": ".*", "#": "(?:#.*)?", "/": "(?:/[^?#]*)?", "?": r"(?:\?[^#]*)?", "&": "(?:&[^#]*)?"}
_SIMPLE_EXPANSION = "[^/?#]*"


def matches_template(template: str, uri: str) -> bool:
    """Return whether a template (RFC 6570) can make an address; none makes one that leads to a parent folder."""
    path = unquote(unquote(uri))
    if visible(path) != path or {"{", "}"} & set(uri) or ".." in re.split(r"[/\\?#]", path):
        return False
    parts = _EXPRESSION.split(template)
    pattern = re.escape(parts[0])
    for operator, text in zip(parts[1::2], parts[2::2], strict=True):
        pattern += _EXPANSIONS.get(operator, _SIMPLE_EXPANSION) + re.escape(text)
    return compile_pattern(pattern, "uri").fullmatch(uri) is not None


@dataclass(frozen=True, eq=False)
class Resource:
    """An address template (RFC 6570, `{name}` and `{+path}`), whose variables become the arguments of a tool.

    A caller who may use the tool may read the resource.
    """

    template: str
    name: str
    description: str
    """As the model reads it."""
    arguments_of: Callable[..., Mapping[str, Any]]
    """Returns the tool's arguments for the variables."""
    tool: Tool
    listed_by: Tool | None = None
    """The tool whose rows are the resources that there are: each has the template's variable, and perhaps a `title` and
    its `size_bytes`. It takes `limit`, and `after`: the variable of the last row that was read."""

    @property
    def mime_type(self) -> str:
        """The type of its content: a document, or compact rows."""
        return "text/markdown" if self.tool.shows.text else "text/plain"

    @property
    def variables(self) -> list[str]:
        """The names in the template, in their order."""
        return [name for _, name in _VARIABLE.findall(self.template)]

    def arguments(self, uri: str) -> Mapping[str, Any] | None:
        """Return the tool's arguments for an address; None if it does not match the template."""
        found = self._pattern.fullmatch(uri)
        if found is None:
            return None
        return self.arguments_of(**{name: unquote(value) for name, value in found.groupdict().items()})

    def address(self, value: str) -> str:
        """Return the address for a value of the template's only variable."""
        ((plus, name),) = _VARIABLE.findall(self.template)
        return self.template.replace(f"{{{plus}{name}}}", quote(value, safe="/" if plus else ""))

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = _VARIABLE.split(self.template)
        pattern = re.escape(parts[0])
        for plus, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
            pattern += f"(?P<{name}>{'.+' if plus else '[^/?#]+'}){re.escape(text)}"
        return re.compile(pattern)


@dataclass(frozen=True, eq=False)
class Prompt:
    """A task that people often give: a function from arguments, which the protocol sends as text, to the model's text.

    Where the function returns none, its text is in the file `prompts.toml` beside it, with the arguments in braces.
    A caller who may use all its tools may use the prompt.
    """

    module: str
    function: Callable[..., str | None]
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
        values = values_of(parse_model(self.model, arguments))
        return self.function(**values) or self._template.format(**values)

    @property
    def _template(self) -> str:
        return str(toml_beside(inspect.getfile(self.function), "prompts.toml")[self.name])
