"""The rows of an organization in the audit table."""

from mcpist.audit.seals import rows_between
from mcpist.aws.attributes import Item


def audit_items(organization: str) -> list[Item]:
    """Return all rows of an organization as they are stored, the oldest first."""
    return [*rows_between(organization, "0", "~")]
