"""Why the person can or cannot use a tool: the decisions that a call passes, and who can change the first no."""

from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.running.explanation import Explanation, explain, with_roles


def reasons(visit: Visit, name: str) -> Explanation:
    """Return the chain of decisions; an administrator also sees what each of its own roles says."""
    permissions = visit.permissions
    module, tool = permissions.split_name(name)
    if not module or not tool:
        raise InvalidRequest(field="tool", problem="write it as module.tool")
    explanation = explain(permissions, module, tool)
    return with_roles(explanation, permissions) if visit.is_administrator else explanation
