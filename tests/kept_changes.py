"""Changes that are kept, as a write keeps them."""

from typing import Any

from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.running import changes
from mcpist.running.changes import ChangeContent


def keep(caller: Caller, tool: str, content: ChangeContent, **more: Any) -> str:
    """Store a change and return its id."""
    item = changes.new_item(caller, tool, content, **more)
    ledger_table().put(item)
    return str(item["id"])
