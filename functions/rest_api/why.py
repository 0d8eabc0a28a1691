"""The route that says why a tool can or cannot be used: the gate's decisions, and the first that says no."""

from contextlib import suppress
from typing import Annotated

from aws_lambda_powertools.event_handler.openapi.params import Query
from pydantic import Field

from mcpist.errors import InvalidRequest, McpistError
from mcpist.running.explanation import Explanation, UseDecision, explain, look_as, with_roles
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE
from rest_api.administration.changes import administration
from rest_api.exchange import current
from rest_api.router import Body, Operations, body_of
from rest_api.tools.names import FullName, find

router = Operations("tools")


class DecisionBody(Body):
    """One decision about the use, in the order in which a call decides."""

    name: Annotated[
        str,
        Field(
            description="listed, module, role, module_switch, tool, mask, destructive, switch, reading, "
            "policy where the organization has any, account, scope"
        ),
    ]
    verdict: Annotated[str, Field(description="yes, no, or open where nothing is decided after a no")]
    code: Annotated[str, Field(description="The code of the error that a call would get")] = ""
    message: str = ""
    hint: str = ""
    changed_by: Annotated[str, Field(description="you, administrator, operator, or nobody: wait")] = ""
    remedy: Annotated[str, Field(description="The command or the address that changes it")] = ""


class RoleFindingBody(Body):
    """The decision of one role about the tool."""

    role: str
    rule: Annotated[str, Field(description="What refuses it: module, deny, allow or destructive; empty if it permits")]
    mask: Annotated[str, Field(description="The mask that decided")]


class ExplanationBody(Body):
    """Whether a user can use a tool now, and why."""

    module: str
    tool: str
    user: str
    usable: Annotated[bool | None, Field(description="null where it cannot be decided now")]
    first_no: Annotated[str, Field(description="The name of the first decision that says no")] = ""
    decisions: list[DecisionBody]
    account: Annotated[str, Field(description="The account that would act")] = ""
    asks_first: Annotated[bool, Field(description="Whether the person is asked before it runs")] = False
    roles: Annotated[list[RoleFindingBody], Field(description="For administrators")] = []
    disabled_by: Annotated[str, Field(description="For administrators: the entry that switches it off")] = ""


@router.operation("GET", "/v1/why", "Say why a tool can or cannot be used")
def explain_tool(
    tool: Annotated[str, Query(max_length=256, description="A tool's name: module.tool, or as listed")],
    user: Annotated[str, Query(max_length=256, description="Another user, for an administrator")] = "",
) -> ExplanationBody:
    """Show the decisions that a call of a tool passes, the first that says no, and who can change it."""
    caller = current().caller
    if user and user != caller.user:
        permissions, finder = look_as(administration(), CATALOGUE, user)  # the broker lists their accounts for it
        return _body(with_roles(explain(permissions, *_names(permissions, tool), find_account=finder), permissions))
    permissions = current().permissions
    explanation = explain(permissions, *_names(permissions, tool))
    return _body(with_roles(explanation, permissions) if caller.system_role == "admin" else explanation)


def _names(permissions: Permissions, name: str) -> FullName:
    """Return the module and the tool of a name; one that does not exist is explained, too."""
    with suppress(McpistError):
        return find(permissions, name)
    module, tool = permissions.split_name(name)
    if not module or not tool:
        raise InvalidRequest(field="tool", problem="write it as module.tool")
    return module, tool


def _body(explanation: Explanation) -> ExplanationBody:
    is_open = any(step.verdict == "open" for step in explanation.steps)
    refusal = explanation.refusal
    return body_of(
        ExplanationBody,
        explanation,
        usable=False if refusal else None if is_open else True,
        first_no=refusal.name if refusal else "",
        decisions=[_decision(step) for step in explanation.steps],
        roles=[body_of(RoleFindingBody, one) for one in explanation.roles],
    )


def _decision(step: UseDecision) -> DecisionBody:
    if step.error is None:
        return DecisionBody(name=step.name, verdict=step.verdict)
    message, hint = step.error.text(current().request.locale())
    said = {"code": step.error.code, "message": message, "hint": hint}
    return DecisionBody(name=step.name, verdict=step.verdict, **said, changed_by=step.actor or "", remedy=step.remedy)
