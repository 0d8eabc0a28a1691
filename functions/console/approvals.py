"""The tools of upstream servers that wait for an approval: how many, what changes, and who decides."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mcpist.errors import ApprovalRequired
from mcpist.tools.permissions import Permissions

if TYPE_CHECKING:
    from mcpist_services.upstream.category import CategoryModule
    from mcpist_services.upstream.text_changes import TextLine


@dataclass(frozen=True, slots=True)
class Comparison:
    """The text that an administrator reads before approving a tool."""

    lines: Sequence["TextLine"]
    """What differs from the approved text, or else the whole text."""
    is_difference: bool


def compare(text: str, approved: str | None) -> Comparison:
    """Return the lines of a tool's text, compared with what was approved if that is known."""
    from mcpist_services.upstream.text_changes import changes, lines_of

    if approved is None:
        return Comparison(lines_of(text), is_difference=False)
    return Comparison(changes(approved, text), is_difference=True)


def count_waiting(permissions: Permissions) -> Mapping[str, int]:
    """Return how many tools of each module wait, as their servers last listed them; no server is asked."""
    counts = {name: len(_waiting(category)) for name, category in _categories(permissions)}
    return {name: count for name, count in counts.items() if count}


def deployed_servers(permissions: Permissions, name: str) -> Mapping[str, Sequence[str]]:
    """Return the tools that wait in a category of the deployment by its servers; its operator approves them."""
    category = dict(_categories(permissions)).get(name)
    return dict.fromkeys(category.servers, _waiting(category)) if category else {}


def _waiting(category: "CategoryModule") -> Sequence[str]:
    return sorted(name for name, reason in category.withheld.items() if isinstance(reason, ApprovalRequired))


def _categories(permissions: Permissions) -> Iterator[tuple[str, "CategoryModule"]]:
    """Yield the modules of upstream servers; where there is none, nothing of theirs is imported."""
    catalogue = permissions.catalogue
    names = [name for name, module in catalogue.index.modules.items() if module.kind == "upstream"]
    if names:
        from mcpist_services.upstream.category import CategoryModule

        modules = ((name, catalogue.module(name)) for name in names)
        yield from ((name, module) for name, module in modules if isinstance(module, CategoryModule))
