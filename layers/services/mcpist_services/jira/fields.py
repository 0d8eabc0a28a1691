"""Fields of an issue in Jira's format."""

from collections.abc import Callable
from typing import Any

from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist.tools.declare.call import given
from mcpist_services.jira.reading import from_adf
from mcpist_services.jira.writing import Node, to_adf


def issue_fields(**values: Any) -> dict[str, Any]:
    """Convert the known fields of an issue; those that are None are left out."""
    return {name: _FIELD_WRITERS.get(name, lambda value: value)(value) for name, value in given(**values).items()}


def custom_fields(fields: dict[str, Any] | None) -> dict[str, Any]:
    """Return fields in Jira's own format; `{"markdown": "..."}` becomes rich text."""
    return {name: _custom_value(value, f"fields.{name}") for name, value in (fields or {}).items()}


def _custom_value(value: Any, field: str) -> Any:
    match value:
        case {"markdown": str(text)} if len(value) == 1:
            return adf(text, field)
        case _:
            return value


def _by_name_or_id(name: str) -> dict[str, str]:
    return {"id": name} if name.isdecimal() else {"name": name}


def by_key_or_id(key: str) -> dict[str, str]:
    """Refer to an issue or a project by its id, if all are digits, else by its key."""
    return {"id": key} if key.isdecimal() else {"key": key}


_FIELD_WRITERS: dict[str, Callable[[Any], Any]] = {
    "project": by_key_or_id,
    "issuetype": _by_name_or_id,
    "description": lambda text: adf(text, "description"),
    "priority": _by_name_or_id,
    "assignee": lambda account: {"id": account},
    "parent": by_key_or_id,
    "components": lambda names: [{"name": name} for name in names],
    "environment": lambda text: adf(text, "environment"),
}


def comment_body(comment: str | None) -> dict[str, Any] | None:
    """Convert a Markdown comment to the body of a request."""
    return None if comment is None else {"body": adf(comment, "comment")}


def adf(text: str, field: str) -> Node:
    """Convert Markdown to a document; InvalidRequest, naming the field, for what Markdown cannot express."""
    return to_adf(read(text), field, seed=text)


def markdown(document: Node | str | None) -> str:
    """Convert a document to Markdown; plain text, which some fields hold, is returned as it is."""
    if isinstance(document, dict):
        return write(from_adf(document))
    return document or ""
