"""Saved batches of the organization as tools, and the tools that save, show and delete them."""

import math
from collections.abc import Collection
from copy import copy
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field

from mcpist.batch.saved import records
from mcpist.batch.saved.records import MODULE, SavedBatch
from mcpist.caller import Caller
from mcpist.errors import AlreadyExists
from mcpist.memory import Memory
from mcpist.render.shows import shows
from mcpist.tools.declare.call import ToolLookup
from mcpist.tools.declare.module import Module
from mcpist.tools.search.catalogue import ModuleSource
from mcpist.tools.search.index import Index

MAX_CACHED_MODULES = 100

saved = Module(MODULE, __doc__, api_version="1", kind="saved", category="automation", tags=("batch", "saved"))

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,56}$"), "Small letters, digits and _, e.g. weekly_report"]
Text = Annotated[str, Field(min_length=1, max_length=1_000)]
Role = Annotated[str, Field(min_length=1, max_length=128)]
Commands = Annotated[
    list[dict[str, Any]] | str,
    "Its steps as batch takes them; ${param.name} stands for the value of a parameter, e.g. []",
]
Parameters = Annotated[
    dict[str, dict[str, Any]],
    Field(max_length=30),
    'The JSON Schema of each; one with a default may be left out, e.g. {"channel": {"type": "string"}}',
]
Roles = Annotated[list[Role], Field(max_length=40), "Your roles that may use it, too, e.g. members"]
SAVED = shows(
    "name", "version", "description", "parameters", "effect", "owner", "roles", "tools", "problem", "saved_at"
)
WHOLE = shows(*SAVED.fields, "answer", "commands")


@saved.writes(SAVED)
def save(
    name: Name,
    description: Annotated[Text, "What it does, for those who choose it by these words, e.g. Post the open issues"],
    commands: Commands = "",
    batch: Annotated[str, Field(max_length=100), "Instead of commands: a batch of yours that ran, e.g. b_12"] = "",
    parameters: Parameters = {},  # noqa: B006 - never changed
    answer: Annotated[str, Field(max_length=64), "The step whose answer it has; the last with output if left out"] = "",
    roles: Roles = [],  # noqa: B006 - never changed
    replaces: Annotated[int, Field(ge=0), "The version that you replace; 0 only saves a new one"] = 0,
) -> ToolLookup:
    """Save a batch under a name: it becomes a tool of the organization, which does what its caller may do."""
    from mcpist_services.saved import saving

    if name in saved.tools:
        raise AlreadyExists(kind="tool", name=f"{MODULE}.{name}")
    request = saving.SaveRequest(name, description, commands, batch, parameters, answer, tuple(roles), replaces)
    return ToolLookup(saving.save, request=request)


@saved.reads(SAVED)
def list(broken: Annotated[bool, "Only those whose last check failed"] = False) -> ToolLookup:  # noqa: A001 - its name
    """List the saved batches that you may use, with their parameters."""
    from mcpist_services.saved import saving

    return ToolLookup(saving.list_saved, broken=broken)


@saved.reads(WHOLE)
def show(name: Name, version: Annotated[int, Field(ge=0), "0 is the present one"] = 0) -> ToolLookup:
    """Show a version of a saved batch with its steps."""
    from mcpist_services.saved import saving

    return ToolLookup(saving.show, name=name, version=version)


@saved.destroys(shows("name", "state"))
def delete(name: Name) -> ToolLookup:
    """Delete a saved batch of yours; for 30 days its versions are kept, and saving it again goes on with them."""
    from mcpist_services.saved import saving

    return ToolLookup(saving.delete, name=name)


_own_index = Index.of([saved])
_UNREAD = Index([replace(entry, listed=False) for entry in _own_index.modules.values()], _own_index.words)
_built: Memory[tuple[Any, ...], tuple[Module, Index]] = Memory(math.inf, MAX_CACHED_MODULES)


class SavedModule(ModuleSource):
    """The module as one caller's request finds it: the saved batches are read once it is named, or searched."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._found: tuple[Module, Index] | None = None

    @property
    def names(self) -> Collection[str]:
        """The one name."""
        return (MODULE,)

    @property
    def index(self) -> Index:
        """The index with what was read."""
        return self._found[1] if self._found else _UNREAD

    def module(self, name: str) -> Module:
        """Return the module; LookupError for another name."""
        if name != MODULE:
            raise LookupError(name)
        self.load_tools((name,))
        return self._found[0] if self._found else saved

    def load_tools(self, names: Collection[str]) -> None:
        """Read the saved batches of the organization, unless that was done a moment ago."""
        if MODULE in names:
            visible = records.read(self._caller.organization).of(self._caller)
            key = self._caller.organization, *((one.name, one.version, one.saved_at, one.problem) for one in visible)
            self._found = _built.get_or_make(key, lambda: _build(visible))


def _build(visible: Collection[SavedBatch]) -> tuple[Module, Index]:
    from mcpist.batch.saved.expansion import SavedTool  # a request that names none need not wait for it

    made = copy(saved)
    made.tools = {**saved.tools, **{one.name: SavedTool.of(one) for one in visible}}
    return made, Index.of([made])
