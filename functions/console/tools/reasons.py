"""Why a person can or cannot use a tool: the decisions that a call passes, and who can change the first no."""

from console.visit import Visit
from mcpist.errors import InvalidRequest
from mcpist.running.explanation import Explanation, explain, with_roles
from mcpist.running.other_users import look_as
from mcpist_services.catalogue import CATALOGUE


def reasons(visit: Visit, name: str) -> Explanation:
    """Return the chain of decisions about the visitor, or for an administrator about the `user` of the query.

    An administrator also sees what each role says.
    """
    permissions, user = visit.permissions, visit.request.query.get("user", "")
    module, tool = permissions.split_name(name)
    if not module or not tool:
        raise InvalidRequest(field="tool", problem="write it as module.tool")
    if user and user != visit.caller.user:
        permissions, finder = look_as(visit.administration, CATALOGUE, user)
        return with_roles(explain(permissions, module, tool, find_account=finder), permissions)
    explanation = explain(permissions, module, tool)
    return with_roles(explanation, permissions) if visit.is_administrator else explanation
