"""What of a table's rows can be undone."""

import pytest

from mcpist.errors import NotUndoable
from mcpist.tools.declare.undo import ToolChange
from mcpist_services.catalogue import CATALOGUE

WHERE = {"project_ref": "abcdefghijklmnopqrst", "table": "orders"}
ROW = {"id": 1, "status": "open"}


@pytest.mark.parametrize("returning", [["status"], []])
def test_rows_of_which_a_write_returns_a_part_are_not_undone(returning: list[str]) -> None:
    answer = [{"status": "open"}] if returning else {"done": True}
    for name, more in (
        ("insert", {"rows": [ROW]}),
        ("update", {"values": {"status": "open"}, "filters": {"id": "eq.1"}}),
    ):
        tool = CATALOGUE.module("supabase").tools[name]
        change = ToolChange(name, tool.validate({**WHERE, **more, "returning": returning}), answer, [ROW])
        assert tool.undo is not None
        with pytest.raises(NotUndoable, match="cannot be told from others"):
            list(tool.undo.calls(change))
