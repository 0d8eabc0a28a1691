"""What every writing tool of a written service says of its undo.

Run this file as a script to see which tools say nothing yet: `python -m tests.services.test_undo`.
"""

import sys

from mcpist.tools.declare.tool import Tool
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from tests.faults import for_each

# Services whose tools say nothing yet: a line goes once the service's tools declare it.
UNDECLARED = frozenset({*NAMES} - {"files"})
WRITING = {
    f"{name}.{tool.name}": tool for name in NAMES for tool in CATALOGUE.module(name).tools.values() if not tool.reads
}


@for_each("service", sorted({tool.module for tool in WRITING.values()}))
def test_each_tool_that_writes_says_what_undoes_it_or_why_nothing_does(service: str) -> None:
    missing = missing_of(service)
    assert service in UNDECLARED or not missing, f"declare `undo` or `irreversible` for {', '.join(missing)}"
    assert service not in UNDECLARED or missing, f"take {service} out of UNDECLARED"


@for_each("tool", {name: tool for name, tool in WRITING.items() if tool.undo})
def test_an_undo_names_a_read_of_the_same_module_and_compares_what_it_would_overwrite(tool: Tool) -> None:
    undo, tools = tool.undo, CATALOGUE.module(tool.module).tools
    assert undo is not None
    if undo.read:
        assert tools[undo.read].reads, f"{undo.read} does not read"
        assert undo.state is not None
    else:
        assert tool.effect == "destroys", "without a read, changes of others would be lost"


def missing_of(service: str) -> list[str]:
    """Return the writing tools of a service that say nothing."""
    return [name for name, tool in WRITING.items() if tool.module == service and not (tool.undo or tool.irreversible)]


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}\n" for service in NAMES for name in missing_of(service)))
