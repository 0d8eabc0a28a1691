"""The rights of the user who started a batch, read anew for each step."""

from dataclasses import replace

from mcpist.batch.ledger.records import Header
from mcpist.caller import Caller, Proof
from mcpist.people import directory
from mcpist.render.shows import Shows
from mcpist.tools.access.permissions import Permissions
from mcpist_services.catalogue import CATALOGUE


def permissions_of(head: Header) -> Permissions:
    """Return the present permissions of the user who started a batch."""
    return Permissions(_caller(head), CATALOGUE)


def find_shows(head: Header, module: str, tool: str) -> Shows:
    """Return the fields of a tool's answers; only those of a module that is no file depend on the caller."""
    catalogue = CATALOGUE if module in CATALOGUE.names else CATALOGUE.of(_caller(head))
    return catalogue.shows(module, tool)


def _caller(head: Header) -> Caller:
    caller = directory.identify(
        head.subject,
        organization=head.organization,
        roles=head.roles,
        proof=Proof("warrant", head.warrant) if head.warrant else None,
    )
    return replace(caller, client=head.client, reading_only=head.reading_only, pins=head.pins)
