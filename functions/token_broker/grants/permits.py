"""Permits in the table of grants: one that is deleted opens nothing any more.

Under `pk` #permits#ORGANIZATION, which no organization's grants have:
    USER#ID                what the permit is for
"""

from dataclasses import dataclass

from mcpist.aws.attributes import decode, encode
from token_broker.grants.grants import table


@dataclass(frozen=True, slots=True)
class PermitRow:
    """A permit as people may see it."""

    id: str
    purpose: str
    roles: tuple[str, ...]
    services: tuple[str, ...]
    created_at: int
    """In epoch seconds, as its end."""
    expires_at: int


def put(organization: str, user: str, row: PermitRow) -> None:
    """Store a new permit."""
    table().put({"pk": _partition(organization), "sk": f"{user}#{row.id}", **encode(row)})


def exists(organization: str, user: str, id_: str) -> bool:
    """Whether a permit has not been ended."""
    return table().get(_partition(organization), f"{user}#{id_}") is not None


def of_user(organization: str, user: str) -> list[PermitRow]:
    """Return the permits of a user."""
    return [decode(PermitRow, item) for item in table().query(_partition(organization), f"{user}#")]


def delete(organization: str, user: str, id_: str) -> bool:
    """End a permit, and return whether there was one."""
    return table().delete(_partition(organization), f"{user}#{id_}")


def _partition(organization: str) -> str:
    return f"#permits#{organization}"
