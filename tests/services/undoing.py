"""Check of what a tool declares as its undo, by an example of a change."""

from collections.abc import Mapping
from typing import Any

from mcpist.tools.declare.undo import ToolCall, ToolChange
from mcpist_services.catalogue import CATALOGUE


def check_undo(
    name: str,
    arguments: Mapping[str, Any],
    *calls: tuple[str, Mapping[str, Any]],
    answer: Any = None,
    before: Any = None,
    read: Mapping[str, Any] | None = None,
    after: Any = None,
    changed: Any = None,
) -> None:
    """Check that a change is undone by exactly these calls, which their tools take, and that changes of others show.

    `answer` and `before` are the service's JSON, `read` the arguments of the declared read. Of the read's JSON, `after`
    is as the change leaves the target, `changed` as it is once somebody else has changed what the undo would overwrite.
    """
    module, _, tool_name = name.partition(".")
    tools = CATALOGUE.module(module).tools
    undo = tools[tool_name].undo
    assert undo is not None, f"{name} declares no undo"
    change = ToolChange(tool_name, tools[tool_name].validate(arguments), answer, before)
    made = list(undo.calls(change))
    assert made == [ToolCall(tool, given) for tool, given in calls]
    for call in made:
        assert not tools[call.tool].reads
        tools[call.tool].validate(call.arguments)
    if undo.read:
        target = undo.target_of(change, tools[undo.read].input_schema["properties"])
        assert target == read
        tools[undo.read].validate(target)
        left = undo.written_by(change)
        assert left, "nothing is compared, so changes of others would be lost"
        assert undo.fields_of(after, change) == left
        assert undo.fields_of(changed, change) != left
