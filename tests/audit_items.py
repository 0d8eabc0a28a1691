"""The rows of an organization in the audit table."""

from mcpist.audit.partitions import read_upwards
from mcpist.audit.record import audit_table
from mcpist.aws.attributes import Item


def audit_items(organization: str) -> list[Item]:
    """Return all rows of an organization as they are stored, the oldest first."""
    return [*read_upwards(audit_table(), organization, "0", "~")]
