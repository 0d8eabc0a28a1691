"""`mcpist why`: the decisions about a tool, the first that says no, and who can change it."""

from typing import Annotated, Any

from typer import Argument, Option

from infra.cli.access import Access, with_access
from infra.cli.document import CommandResult
from infra.cli.table import render_table
from mcpist.visible_text import visible

_COLUMNS = ("name", "verdict", "message", "changedBy", "remedy")


@with_access
def why(
    access: Access,
    tool: Annotated[str, Argument(metavar="MODULE.TOOL", help="The tool.")],
    user: Annotated[str, Option(metavar="USER", help="Another user, for an administrator.")] = "",
) -> CommandResult:
    """Show why a tool can or cannot be used, and who can change it."""
    found = access.session(own=not user).get("/v1/why", tool=tool, user=user)
    return CommandResult(metadata=found, drawing=_draw(found))


def _draw(found: dict[str, Any]) -> str:
    decided = [one for one in found["decisions"] if not (found["firstNo"] and one["verdict"] == "open")]
    rows = [[visible(str(decision[name])) for name in _COLUMNS] for decision in decided]
    roles = [[visible(str(role[name])) for name in ("role", "rule", "mask")] for role in found["roles"]]
    tables = [render_table(_COLUMNS, rows)]
    tables += [render_table(("role", "refused by", "mask"), roles)] if roles else []
    return "\n\n".join(tables)
