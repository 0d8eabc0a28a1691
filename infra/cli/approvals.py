"""`mcpist approvals`: what waits for a person's decision; the decision itself is made in the console."""

from typing import Annotated, Literal

from typer import Argument, Option

from infra.cli.document import CommandResult
from infra.cli.options import command_group
from infra.cli.rest_client import Access, part
from infra.cli.rest_commands import one_request, to_result
from infra.cli.table import moment, render_table

APPROVAL_ID = Argument(metavar="ID", help="The approval's id.")

APPROVAL = "/v1/approvals/{}"

approvals = command_group()
approvals.command("show", help="Show an approval with what it destroys.")(
    one_request("GET", APPROVAL, APPROVAL_ID, own=True)
)


@approvals.command("list")
def list_approvals(
    access: Access,
    of: Annotated[
        Literal["waiting", "mine"], Option(help="Those for you to decide, or those of your own requests.")
    ] = "waiting",
) -> CommandResult:
    """List the approvals that wait for your decision, or that you have asked for."""
    found = access.session(own=True).get("/v1/approvals", of=of)["approvals"]
    rows = [
        (one["approvalId"], one["state"], one["requestedBy"], ", ".join(one["tools"]), moment(one["until"]))
        for one in found
    ]
    table = render_table(("approval", "state", "requested by", "tools", "until (UTC)"), rows)
    urls = sorted({one["url"].partition("?")[0] for one in found})
    shown = "\n".join([table, *(f"Decide at {url}" for url in urls)])
    return CommandResult(metadata={"approvals": found}, drawing=shown if rows else "No approval waits.")


@approvals.command("decline")
def decline(
    access: Access,
    approval: Annotated[str, APPROVAL_ID],
    reason: Annotated[str, Option(metavar="TEXT", help="Why, for the requester and their assistant.")],
) -> CommandResult:
    """Decline a request that waits for you, and say why."""
    path = f"/v1/approvals/{part(approval)}/decline"
    return to_result(access.session(own=True).request("POST", path, json={"reason": reason}))


approvals.command("cancel", help="Cancel your own request.")(
    one_request("POST", f"{APPROVAL}/cancel", APPROVAL_ID, own=True)
)


@approvals.command("notify")
def notify(
    access: Access,
    address: Annotated[
        str, Argument(metavar="ADDRESS", help='An https address, SERVICE:ROLE/CHANNEL, or "" to tell nobody.')
    ],
) -> CommandResult:
    """Say where the organization is told that something waits; the key of the signatures is shown only now."""
    return to_result(access.session().request("PUT", "/v1/organization/notification", json={"url": address}))
