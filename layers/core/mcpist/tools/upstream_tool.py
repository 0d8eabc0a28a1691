"""Upstream tools: those of other MCP servers, with the schemas and descriptions that the servers give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mcpist.render.shows import Shows, shows
from mcpist.tools.call import ProxiedCall
from mcpist.tools.schema import parameter_lines
from mcpist.tools.schema_tool import SchemaTool, properties_of
from mcpist.tools.search import Field
from mcpist.tools.tool import Effect, ModuleMetadata

if TYPE_CHECKING:
    import mcp_types


def unknown_columns(noise: Sequence[str] = ()) -> Shows:
    """Return the columns of answers that are known only when they come."""
    return shows("*", noise=noise)


@dataclass(frozen=True, eq=False, kw_only=True)
class UpstreamTool(SchemaTool):
    """A tool of an MCP server."""

    given: "mcp_types.Tool"
    """The tool as the server describes it."""
    server: str
    service: str | None = None
    """The service whose grant is sent to the server; None sends none."""
    shows: Shows = field(default_factory=unknown_columns)
    about: ModuleMetadata = field(default_factory=ModuleMetadata)
    is_effect_configured: bool = False
    """Whether the operator has set the effect; else it is what the server says."""

    @property
    def name(self) -> str:
        """The server's own name of it."""
        return self.given.name

    @property
    def description(self) -> str:
        """The server's description."""
        return (self.given.description or self.given.title or "").strip()

    @property
    def input_schema(self) -> dict[str, Any]:
        """The server's schema of the arguments."""
        return self.given.input_schema

    @property
    def output_schema(self) -> dict[str, Any]:
        """The server's schema of the answer, where it gives one."""
        return self.given.output_schema or super().output_schema

    @cached_property
    def signature(self) -> str:
        """One line: `read_file(path, lines?: integer) -> content`, with the answer's fields where they are known."""
        fields = ", ".join(properties_of(self.given.output_schema or {}))
        parameters = parameter_lines({**self.input_schema, "properties": properties_of(self.input_schema)})
        return f"{self.name}({', '.join(parameters)}){f' -> {fields}' if fields else ''}"

    @property
    def needs_allow(self) -> bool:
        """Whether a role must allow it: always, unless the operator says that it reads."""
        return not (self.reads and self.is_effect_configured)

    @property
    def words(self) -> dict[Field, str]:
        """The words that a search finds the tool by: the server's name counts as the module's does."""
        return {
            "name": self.name,
            "service": f"{self.module} {self.server.partition('@')[0]}",
            "description": self.description,
            "parameters": " ".join(properties_of(self.input_schema)),
        }

    def describe_work(self, arguments: Mapping[str, Any]) -> ProxiedCall:
        """Return the call of the server's tool."""
        return ProxiedCall(self.server, self.name, arguments, self.service)


def effect_of(given: "mcp_types.Tool") -> Effect:
    """Return a tool's effect by the server's hints; without hints it is assumed to destroy."""
    hints = given.annotations
    if hints is not None and hints.read_only_hint:
        return "reads"
    return "writes" if hints is not None and hints.destructive_hint is False else "destroys"
