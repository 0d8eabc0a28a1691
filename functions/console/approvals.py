"""The tools of upstream servers that wait for an approval: how many, what changes, and who decides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mcpist.tools.permissions import Permissions

if TYPE_CHECKING:
    from mcp_types import Tool as ListedTool

    from mcpist_services.upstream.approved_texts import TextLine
    from mcpist_services.upstream.category import CategoryModule


@dataclass(frozen=True, slots=True)
class Comparison:
    """The text that an administrator reads before approving a tool."""

    lines: Sequence["TextLine"]
    """What differs from the approved text, or else the whole text."""
    is_difference: bool


@dataclass(frozen=True, slots=True)
class WaitingTool:
    """A tool of a server that waits for an approval."""

    name: str
    state: Literal["new", "changed"]
    text: Comparison


def compare(text: str, approved: str | None) -> Comparison:
    """Return the lines of a tool's text, compared with what was approved if that is known."""
    from mcpist_services.upstream.approved_texts import changes, lines_of

    if approved is None:
        return Comparison(lines_of(text), is_difference=False)
    return Comparison(changes(approved, text), is_difference=True)


def count_waiting(permissions: Permissions) -> Mapping[str, int]:
    """Return how many tools of each module wait, as their servers last listed them; no server is asked."""
    counts = {name: sum(map(len, category.waiting.values())) for name, category in _categories(permissions)}
    return {name: count for name, count in counts.items() if count}


def deployed_servers(permissions: Permissions, name: str) -> Mapping[str, Sequence[WaitingTool]]:
    """Return the servers of a category of the deployment with their tools that wait; its operator approves them."""
    category = dict(_categories(permissions)).get(name)
    return (
        {server: _waiting_tools(server, category.waiting.get(server, {})) for server in category.servers}
        if category
        else {}
    )


def _waiting_tools(server: str, tools: Mapping[str, "ListedTool"]) -> Sequence[WaitingTool]:
    from mcpist_services.upstream import lists
    from mcpist_services.upstream.trust import pinned_text

    pins = {name: pin for name, pin in lists.server_state(server).pins.items() if name in tools} if tools else {}
    approved = lists.approved_texts_of(server, pins) if pins else {}
    return [
        WaitingTool(name, "changed" if name in pins else "new", compare(pinned_text(tools[name]), approved.get(name)))
        for name in sorted(tools)
    ]


def _categories(permissions: Permissions) -> Iterator[tuple[str, "CategoryModule"]]:
    """Yield the modules of upstream servers; where there is none, nothing of theirs is imported."""
    catalogue = permissions.catalogue
    names = [name for name, module in catalogue.index.modules.items() if module.kind == "upstream"]
    if names:
        from mcpist_services.upstream.category import CategoryModule

        modules = ((name, catalogue.module(name)) for name in names)
        yield from ((name, module) for name, module in modules if isinstance(module, CategoryModule))
