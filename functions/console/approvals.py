"""The tools of upstream servers that wait for an administrator's approval, by module."""

from collections.abc import Mapping

from mcpist.errors import ApprovalRequired
from mcpist.tools.permissions import Permissions


def count_waiting(permissions: Permissions) -> Mapping[str, int]:
    """Return how many tools of each module wait, as their servers last listed them; no server is asked."""
    catalogue = permissions.catalogue
    names = [name for name, module in catalogue.index.modules.items() if module.kind == "upstream"]
    if not names:
        return {}
    from mcpist_services.upstream.category import CategoryModule

    modules = {name: catalogue.module(name) for name in names}
    counts = {
        name: sum(isinstance(reason, ApprovalRequired) for reason in module.withheld.values())
        for name, module in modules.items()
        if isinstance(module, CategoryModule)
    }
    return {name: count for name, count in counts.items() if count}
