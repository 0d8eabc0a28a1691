"""What every writing tool of a written service says of its undo."""

from mcpist.tools.declare.tool import Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each

WRITING = {
    f"{name}.{tool.name}": tool for name in NAMES for tool in CATALOGUE.module(name).tools.values() if not tool.reads
}


@for_each("tool", WRITING)
def test_each_tool_that_writes_says_what_undoes_it_or_why_nothing_does(tool: Tool) -> None:
    assert tool.undo or tool.irreversible, "declare `undo` or `irreversible`"


def test_most_tools_that_write_can_be_undone() -> None:
    of_services = [tool for tool in WRITING.values() if tool.module != "changes"]  # an undo undoes by its steps
    assert sum(tool.undo is not None for tool in of_services) >= 0.8 * len(of_services)


@for_each("tool", {name: tool for name, tool in WRITING.items() if tool.undo})
def test_an_undo_names_a_read_of_the_same_module_and_compares_what_it_would_overwrite(tool: Tool) -> None:
    undo, tools = tool.undo, CATALOGUE.module(tool.module).tools
    assert undo is not None
    if undo.read:
        assert tools[undo.read].reads, f"{undo.read} does not read"
        assert undo.state is not None or tool.effect == "destroys"
    else:
        assert tool.effect == "destroys", "without a read, changes of others would be lost"
