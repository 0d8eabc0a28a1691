"""A module: one service's tools, resources and prompts, declared with its decorators."""

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, InitVar, dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, Protocol, Unpack

from mcpist.caller import Caller
from mcpist.render.shows import Shows
from mcpist.tools.declare.call import ProxiedCall, ProxiedResponse, Work
from mcpist.tools.declare.dialect import BEARER, HTTP_STANDARD, CredentialPlacement, Refusals
from mcpist.tools.declare.materials import Prompt, Resource
from mcpist.tools.declare.paging import Paging
from mcpist.tools.declare.tool import DeclaredTool, Effect, ModuleMetadata, PagePath, Tool
from mcpist.tools.declare.undo import From, Undo

if TYPE_CHECKING:
    from mcp_types import GetPromptResult, ReadResourceResult

type ToolFunction = Callable[..., Work]
type ResourceFunction = Callable[..., Mapping[str, Any]]
type PromptFunction = Callable[..., str | None]
type ModuleKind = Literal["service", "upstream", "api", "program", "saved"]
"""A written service, a category of upstream servers, an imported API, a set of programs, or the saved batches."""

FIRST_RELEASE = "2026-11-21T00:00:00Z"


class UpstreamClient(Protocol):
    """The MCP servers of a module's category; a deadline is a moment on the monotonic clock."""

    def call(self, caller: Caller, work: ProxiedCall, *, deadline: float, reads: bool) -> ProxiedResponse:
        """Return a tool's response; a tool that `reads` may be sent twice."""

    def read(self, caller: Caller, uri: str, *, deadline: float) -> "ReadResourceResult":
        """Return the contents of a resource, by its address here."""

    def get_prompt(
        self, caller: Caller, prompt: str, arguments: Mapping[str, str], *, deadline: float
    ) -> "GetPromptResult":
        """Return a prompt's messages."""


class ToolMetadata(ModuleMetadata, total=False):
    """Metadata of a single tool, besides its module's."""

    cache_seconds: int
    """How long a response may be reused, in seconds."""
    uses: tuple[Mapping[str, Any], ...]
    """Optional arguments, each set of which makes an example."""
    scopes: tuple[str, ...]
    """The scopes that the tool needs instead of its effect's."""
    page_path: PagePath
    """The path of an item's page, instead of the module's."""
    undo: Undo
    """What undoes a tool that writes; such a tool of a written service declares this or the next."""
    tells: Mapping[str, From]
    """The people that the service tells of a write, by kind: paths of the change, or functions of it."""
    costs: str
    """What a use costs, in a few words of which the module's `ja.toml` has the Japanese."""
    irreversible: str
    """Why nothing undoes it, in a few words of which the module's `ja.toml` has the Japanese."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The scopes that an account needs for a module's tools, by their effect."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    """Also of tools that ask."""
    destroys: tuple[str, ...] = ()
    implied_by: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For a scope: the wider ones, each of which includes it."""


@dataclass(eq=False, repr=False)
class Module:
    """A service: its address, its rules, and its tools, resources and prompts."""

    name: str
    doc: InitVar[str | None]
    """The docstring of its file, whose first line describes the module."""
    _: KW_ONLY
    api_version: str
    version: str = "1.0.0"
    category: str = "productivity"
    author: str = "MCPist"
    tags: tuple[str, ...] = ()
    kind: ModuleKind = "service"
    registered_at: str = FIRST_RELEASE
    """When its tools became available, in UTC."""

    host: str = ""
    """The fixed origin, with a base path if it has one, that Calls and tokens are sent to; `{account}` is the connected
    account's id. A module with a host needs a grant of the service of its own name, unless the service is public."""
    origins: str = ""
    """A pattern of the service's other origins, which get no token."""
    token_origins: Collection[str] = ()
    """Those of them that the account's token opens as well."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of every Call."""
    needs_account: bool = True
    """Whether a service with a host needs an account."""
    credential: CredentialPlacement = BEARER
    """Where its requests carry the account's token or key."""
    scopes: Scopes = Scopes()
    paging: Paging | None = None
    """The paging of its lists, unless a tool declares another."""
    refusals: Refusals = HTTP_STANDARD
    """The service's refusals, where they differ from the HTTP standards."""
    open_store: Callable[[Caller], Any] | None = None
    """Returns the store as a caller sees it, for Lookups."""
    open_account: Callable[[str], Any] | None = None
    """Returns the store that an account's key opens, for Lookups of a service that does not speak HTTP."""
    accounts_of: Callable[[], Iterable[str]] = tuple
    """Returns the other services whose accounts its tools use by those services' own tools."""
    synonyms: str = ""
    """Lines of synonyms of a module that is built from data; a written one has files of words."""
    page_path: PagePath | None = None
    """The path of an item's page at the account's own site, where a tool declares no other."""
    upstream: UpstreamClient | None = None
    """The MCP servers behind a category."""
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For masks of its tools, what their data is to policies: internal, customer, public or untrusted."""
    schema_first: bool = False
    """Whether arguments are checked by the published schemas before the models."""

    description: str = field(init=False)
    tools: dict[str, Tool] = field(init=False, default_factory=dict)
    resources: dict[str, Resource] = field(init=False, default_factory=dict)
    prompts: dict[str, Prompt] = field(init=False, default_factory=dict)
    completions: dict[str, tuple[Tool, str]] = field(init=False, default_factory=dict)
    """For an argument: the tool that lists its values, and the column that they are in."""
    message: ToolFunction | None = field(init=False, default=None)
    """Its tool that sends a message: it takes the name of a channel or a person, and Markdown."""
    scopes_by_tool: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    """The scopes that each tool needs, by the tools' names."""

    def __post_init__(self, doc: str | None) -> None:
        self.description = (doc or "").strip().partition("\n")[0]

    @property
    def about(self) -> ModuleMetadata:
        """Metadata of every tool that declares no other."""
        return ModuleMetadata(version=self.version, category=self.category, author=self.author, tags=self.tags)

    @property
    def service(self) -> str | None:
        """The service whose grant the tools need."""
        return next(iter(self.services), None)

    @property
    def services(self) -> tuple[str, ...]:
        """All services whose grants the tools need: only categories have more than one."""
        return (self.name,) if (self.host or self.open_account) and self.needs_account else ()

    def labels_of(self, tool: str) -> set[str]:
        """Return the labels of what a tool answers, or of where it writes.

        What others serve is untrusted, unless it is of a closed world by the server's own account.
        """
        if (found := self.tools.get(tool)) and found.is_closed_world:
            return {"internal"}
        labels = self.labels or ({"*": ("untrusted",)} if self.kind in {"upstream", "api"} else {})
        return {label for mask, own in labels.items() if fnmatchcase(tool, mask) for label in own}

    def missing_scope(self, tool: str, granted: Collection[str]) -> str | None:
        """Return the first scope that a tool needs and an account lacks; None where the granted ones are not known."""
        needed, implied_by = self.scopes_by_tool.get(tool, ()), self.scopes.implied_by
        missing = (scope for scope in needed if {scope, *implied_by.get(scope, ())}.isdisjoint(granted))
        return next(missing, None) if granted else None

    def reads(
        self, shows: Shows, operation: str = "", *, reveals: bool = False, **more: Unpack[ToolMetadata]
    ) -> Callable[[ToolFunction], ToolFunction]:
        """Declare a tool that changes nothing; `reveals` marks one that shows secrets."""
        return self._declare("reads", shows, operation, more, idempotent=True, reveals=reveals)

    def lists(
        self, shows: Shows, operation: str = "", *, paging: Paging | None = None, **more: Unpack[ToolMetadata]
    ) -> Callable[[ToolFunction], ToolFunction]:
        """Declare a tool that reads a list: its function describes the first page, `paging` does the rest."""
        paging = paging or self.paging
        if paging is None:
            raise ValueError(f"{self.name} declares no paging")
        return self._declare("reads", shows, operation, more, idempotent=True, paging=paging)

    def writes(
        self, shows: Shows, operation: str = "", *, idempotent: bool = False, **more: Unpack[ToolMetadata]
    ) -> Callable[[ToolFunction], ToolFunction]:
        """Declare a tool that creates or updates."""
        return self._declare("writes", shows, operation, more, idempotent=idempotent)

    def asks(
        self, shows: Shows, operation: str = "", *, idempotent: bool = False, **more: Unpack[ToolMetadata]
    ) -> Callable[[ToolFunction], ToolFunction]:
        """Declare a tool that writes what its person must agree to each time, such as a payment."""
        return self._declare("asks", shows, operation, more, idempotent=idempotent)

    def destroys(
        self, shows: Shows, operation: str = "", *, idempotent: bool = False, **more: Unpack[ToolMetadata]
    ) -> Callable[[ToolFunction], ToolFunction]:
        """Declare a tool that removes something or cannot be undone."""
        return self._declare("destroys", shows, operation, more, idempotent=idempotent)

    def resource(
        self, template: str, function: ToolFunction, *, listed_by: ToolFunction | None = None
    ) -> Callable[[ResourceFunction], ResourceFunction]:
        """Declare a resource: the decorated function turns the variables of its address into a tool's arguments.

        `listed_by` is the tool whose rows are those that there are.
        """

        def declare(address: ResourceFunction) -> ResourceFunction:
            self.addresses(template, function, address.__name__, inspect.getdoc(address) or "", address, listed_by)
            return address

        return declare

    def addresses(
        self,
        template: str,
        function: ToolFunction,
        name: str,
        description: str,
        arguments_of: ResourceFunction = dict,
        listed_by: ToolFunction | None = None,
    ) -> None:
        """Declare a resource by its name and description; the variables of its address are the tool's arguments."""
        listing = self._tool(listed_by) if listed_by else None
        resource = Resource(template, name, description, arguments_of, self._tool(function), listing)
        _register(self.resources, name, resource, self.name)

    def prompt(self, *functions: ToolFunction) -> Callable[[PromptFunction], PromptFunction]:
        """Declare a prompt with the tools that it needs."""

        def declare(function: PromptFunction) -> PromptFunction:
            prompt = Prompt(self.name, function, tuple(map(self._tool, functions)))
            _register(self.prompts, prompt.name, prompt, self.name)
            return function

        return declare

    def completes(self, argument: str, function: ToolFunction, column: str) -> None:
        """Declare that an argument of prompts and addresses takes its values from a column of a list."""
        _register(self.completions, argument, (self._tool(function), column), self.name)

    def _declare(
        self, effect: Effect, shows: Shows, operation: str, more: ToolMetadata, *, idempotent: bool, **marks: Any
    ) -> Callable[[ToolFunction], ToolFunction]:
        given: dict[str, Any] = {**marks, **more}
        scopes = given.pop("scopes", getattr(self.scopes, "writes" if effect == "asks" else effect))
        about: Any = {name: given.pop(name, value) for name, value in self.about.items()}
        given.setdefault("page_path", self.page_path)

        def declare(function: ToolFunction) -> ToolFunction:
            undos = [name for name in ("undo", "irreversible") if given.get(name)]
            if len(undos) > (effect != "reads"):
                raise ValueError(f"{self.name}.{function.__name__} is declared with an undo that it cannot have")
            tool = DeclaredTool(
                module=self.name,
                function=function,
                effect=effect,
                shows=shows,
                operation=operation,
                about=about,
                idempotent=idempotent,
                schema_first=self.schema_first,
                **given,
            )
            _register(self.tools, tool.name, tool, self.name)
            self.scopes_by_tool[tool.name] = scopes
            return function

        return declare

    def _tool(self, function: ToolFunction) -> Tool:
        """Return the tool that a function of this module declares."""
        return self.tools[function.__name__]


def _register[Entry](things: dict[str, Entry], name: str, thing: Entry, module: str) -> None:
    if name in things:
        raise ValueError(f"{module}.{name} is declared twice")
    things[name] = thing
