"""The rows of an organization in the audit table."""

from mcpist.aws.attributes import Item
from mcpist.telemetry.audit import audit_table
from mcpist.telemetry.audit_partitions import read_upwards


def audit_items(organization: str) -> list[Item]:
    """Return all rows of an organization as they are stored, the oldest first."""
    return [*read_upwards(audit_table(), organization, "0", "~")]
