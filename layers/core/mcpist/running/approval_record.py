"""One approval: the request that waits, what its person sees, who decided, and what came of it."""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from mcpist.caller import ApprovalMode
from mcpist.errors import ApprovalDeclined, ApprovalEnded, ApprovalPending, McpistError
from mcpist.running.destructive_use import DestructiveUse
from mcpist.settings import settings

type ApprovalState = Literal["waiting", "approved", "used", "declined", "cancelled", "expired"]
OPEN_STATES = ("waiting", "approved")


@dataclass(frozen=True, slots=True)
class Approval:
    """A request that waits, or has waited, for a person's approval."""

    id: str
    digest: str
    """Of the requester and of everything that the person sees."""
    mode: ApprovalMode
    requested_by: str
    """The id of the user whose request it is."""
    requested_at: int
    """In epoch seconds."""
    until: int
    """When the time for a decision ends, or after it the time for the use, in epoch seconds."""
    uses: tuple[DestructiveUse, ...]
    """The uses that the person decides about."""
    request: dict[str, Any]
    """A call with its tool and arguments, or a batch with its commands."""
    client: str = ""
    """The program that sent the request, as it names itself."""
    state: ApprovalState = "waiting"
    decided_by: str = ""
    decided_at: int = 0
    reason: str = ""
    """Why it was declined."""
    used_at: int = 0
    outcome: dict[str, Any] = field(default_factory=dict)
    """Of a call that has ended: `result`, `file` or `error`."""

    @property
    def tools(self) -> list[str]:
        """The full names of the tools that destroy."""
        return sorted({f"{use.module}.{use.tool}" for use in self.uses})

    @property
    def is_call(self) -> bool:
        """Whether it is about one call; else about a batch."""
        return "tool" in self.request

    @property
    def is_open(self) -> bool:
        """Whether it waits, or was given and not used yet."""
        return self.state in OPEN_STATES

    @property
    def is_declined(self) -> bool:
        """Whether the same request is still answered with the refusal."""
        return self.state == "declined" and self.until > time.time()

    def refusal(self) -> McpistError:
        """Return the error of a request that this approval does not permit, or does not permit yet."""
        facts = self.summary() | {"until": datetime.fromtimestamp(self.until, UTC).strftime("%Y-%m-%d %H:%M UTC")}
        kinds = {"waiting": ApprovalPending, "approved": ApprovalPending, "declined": ApprovalDeclined}
        return kinds.get(self.state, ApprovalEnded)(**facts)

    def summary(self) -> dict[str, Any]:
        """Return the facts of the approval as JSON, without what the request said."""
        names = ("state", "mode", "tools", "requested_by", "requested_at", "until", "client")
        facts = {name: getattr(self, name) for name in (*names, "decided_by", "decided_at", "reason")}
        return {"approval_id": self.id, **facts, "url": page_url(self.id)}


def page_url(approval: str) -> str:
    """Return the address of the page on which a person decides."""
    return f"{settings().public_url}/approvals?id={approval}"
