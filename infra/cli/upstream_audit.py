"""The audit rows of an approval: upstream servers are the whole deployment's, so each organization has one."""

from collections.abc import Mapping, Sequence

from mcpist.audit import record as audit
from mcpist.people import directory
from mcpist.people.administration import operator
from mcpist_services.upstream.trust import Pin


def record_approvals(server: str, before: Mapping[str, Pin], approved: Sequence[Pin]) -> None:
    """Write the rows: which fingerprints of a server's tools were approved, before and after."""
    if not approved:
        return
    old = {pin.tool: before[pin.tool].fingerprint for pin in approved if pin.tool in before}
    new = {pin.tool: pin.fingerprint for pin in approved}
    for organization in directory.organizations():
        audit.record_change(
            operator(organization),
            action="upstreams.approve",
            target=f"upstreams.{server}",
            request="",
            before=old,
            after=new,
        )
