"""The names of modules that are defined by data, and of their tools: one rule for all of them."""

from collections.abc import Iterable
from typing import Annotated

from pydantic import StringConstraints

from mcpist_services import NAMES

MAX_FULL_NAME_CHARACTERS = 64
"""Of `module.tool`: clients make a function's name of it."""
META_TOOLS = frozenset({"get_module_schema", "call", "batch", "get_category_tools", "call_category_tool"})
# Words of addresses and commands, which a module of the same name would hide.
ROUTE_NAMES = frozenset({"categories", "described", "mcpist", "modules", "programs", "upstream"})

ModuleName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
type ToolName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,62}$")]


def is_reserved_name(name: str) -> bool:
    """Whether a name could be taken for one of our meta-tools or written modules."""
    plain = name.lower().replace("-", "_")
    return plain in META_TOOLS or plain in NAMES


def is_own_name(name: str) -> bool:
    """Whether no module that is defined by data may have a name."""
    return is_reserved_name(name) or name in ROUTE_NAMES


def check_full_names(module: str, tools: Iterable[str]) -> None:
    """Raise ValueError for a tool whose name is too long beside its module's."""
    for tool in tools:
        if len(f"{module}.{tool}") > MAX_FULL_NAME_CHARACTERS:
            raise ValueError(f"{module}.{tool} is longer than {MAX_FULL_NAME_CHARACTERS} characters")
