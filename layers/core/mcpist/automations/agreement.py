"""The steps to which a person agrees for an automation: those of the saved batch, and of all that are in it."""

import hashlib
from dataclasses import dataclass
from typing import Any

from mcpist.aws.attributes import json_bytes
from mcpist.batch.execution.found_steps import Saving
from mcpist.batch.execution.plan import Plan, plan
from mcpist.batch.language.references import PARAM
from mcpist.batch.saved.expansion import SavedTool
from mcpist.batch.saved.records import MODULE
from mcpist.errors import InvalidRequest
from mcpist.tools.access.permissions import Permissions

_WOULD_ASK = "its person must agree to {tools}: nobody is there to be asked when an automation runs"


@dataclass(frozen=True, slots=True)
class AgreedSteps:
    """The steps of a saved batch, with its parameters in the place of their values."""

    tool: SavedTool
    plan: Plan

    @property
    def fingerprint(self) -> str:
        """The digest of the steps, which changes with each of them."""
        lines: list[Any] = [{"id": step.id, **step.as_line()} for step in self.plan.steps]
        return hashlib.sha256(json_bytes(lines)).hexdigest()


def agreed_steps(permissions: Permissions, batch: str) -> AgreedSteps:
    """Return the present steps of a saved batch; InvalidRequest for one about whose steps a person is asked."""
    tool = permissions.tool(MODULE, batch)
    if not isinstance(tool, SavedTool):
        raise InvalidRequest(field="batch", problem=f"{MODULE}.{batch} is no saved batch")
    names = list(tool.saved.parameters)
    line = {"module": MODULE, "tool": batch, "params": {name: f"${{{PARAM}.{name}}}" for name in names}}
    planned = plan([line], permissions, Saving("", names))
    if asked := sorted({f"{one.module}.{one.name}" for one in planned.tools if one.asks}):
        raise InvalidRequest(field="batch", problem=_WOULD_ASK.format(tools=", ".join(asked)))
    return AgreedSteps(tool, planned)
