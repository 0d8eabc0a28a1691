"""The names of tools in the REST API: legal function names on every platform that calls functions.

`module.list_issues` is `module-list-issues`; the full name is accepted as well.
"""

import hashlib
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache

from mcpist.errors import CallerError, UnknownToolName
from mcpist.suggestions import nearest
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.index import Index, ToolEntry

MAX_NAME_CHARACTERS = 64
DIGEST_CHARACTERS = 8
MAX_CACHED_INDEXES = 64

type FullName = tuple[str, str]
"""The names of a module and of its tool."""


def rest_name(permissions: Permissions, module: str, tool: str) -> str:
    """Return the REST name of a tool of the catalogue."""
    return _names(permissions.catalogue.index)[module, tool]


def find(permissions: Permissions, name: str) -> FullName:
    """Return the module and the tool that a REST name or a full name means; UnknownToolName if there is none."""
    found = _find(permissions, name)
    if found is None:
        permissions.load_tools({module for role in permissions.caller.roles for module in role.modules})
        found = _find(permissions, name)
    if found is None:
        _refuse_withheld(permissions, name)
        visible = (tool for module in permissions.modules() for tool in permissions.tools(module))
        known = nearest(name, (rest_name(permissions, tool.module, tool.name) for tool in visible))
        raise UnknownToolName(name=name, known=known)
    return found


def _refuse_withheld(permissions: Permissions, name: str) -> None:
    """Raise why a tool of a known module is neither shown nor run, as every other entrance does."""
    module, tool = permissions.split_name(name)
    if module in permissions.catalogue.index.modules:
        with suppress(CallerError):
            permissions.tool(module, tool)


def _find(permissions: Permissions, name: str) -> FullName | None:
    index = permissions.catalogue.index
    if found := _tools(index).get(name):
        return found
    module, tool = permissions.split_name(name)
    return (module, tool) if module in index.modules and tool in index.modules[module].tools else None


@lru_cache(MAX_CACHED_INDEXES)
def _names(index: Index) -> Mapping[FullName, str]:
    return {full_name: name for name, full_name in _tools(index).items()}


@lru_cache(MAX_CACHED_INDEXES)
def _tools(index: Index) -> Mapping[str, FullName]:
    """Return the tools by their REST names; of two that would have one name the later gets a digest."""
    tools: dict[str, FullName] = {}
    for entry in index.tools:
        name = _kebab(entry)
        tools[_with_digest(entry) if name is None or name in tools else name] = (entry.module, entry.name)
    return tools


def _kebab(entry: ToolEntry) -> str | None:
    """Return a name in kebab case; None if it would be too long, or would not show which tool is meant."""
    full_name = f"{entry.module}.{entry.name}"
    name = re.sub(r"[._]", "-", full_name)
    is_legal = re.fullmatch(r"[a-z][a-z0-9-]*", name) and len(name) <= MAX_NAME_CHARACTERS
    return name if is_legal else None


def _with_digest(entry: ToolEntry) -> str:
    full_name = f"{entry.module}.{entry.name}"
    digest = hashlib.sha256(full_name.encode()).hexdigest()[:DIGEST_CHARACTERS]
    words = re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", full_name).lower()).strip("-")
    words = words if words[:1].isalpha() else f"tool-{words}"
    return f"{words[: MAX_NAME_CHARACTERS - DIGEST_CHARACTERS - 1].rstrip('-')}-{digest}"
