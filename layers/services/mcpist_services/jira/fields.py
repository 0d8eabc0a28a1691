"""Fields of issues: as Jira takes them, and as columns for readers: rich text as Markdown, nested objects as text."""

from collections.abc import Callable
from typing import Any

from mcpist.markdown.reader import read
from mcpist.markdown.writer import write
from mcpist.render.shows import value_at
from mcpist.tools.declare.call import given
from mcpist_services.jira.reading import from_adf
from mcpist_services.jira.writing import Node, to_adf

MAX_VALUE_CHARACTERS = 200  # of a changed value, which may be a whole description
MAX_ALLOWED_VALUES = 50  # of a field, which may have thousands of versions
LIST_FIELDS = ("summary", "status", "priority", "assignee", "created", "updated")  # of an issue in a list

type JsonObject = dict[str, Any]


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


def comment_text(thing: JsonObject, _: Any = None) -> JsonObject:
    """Return the text of a comment or a worklog."""
    return {"markdown": markdown(thing.get("body") or thing.get("comment"))}


def other_fields(issue: JsonObject, _: Any = None) -> JsonObject:
    """Return the fields of a listed issue that no column shows."""
    others = {name: value for name, value in (issue.get("fields") or {}).items() if name not in LIST_FIELDS}
    return {"more": {name: plain_value(value) for name, value in others.items() if value is not None}}


def field_changes(change: JsonObject, _: Any = None) -> JsonObject:
    """Describe one change of an issue: a text for each field."""
    return {"changes": [_change(item) for item in change.get("items") or []]}


def issue_page(fields: JsonObject, names: list[str], comments: list[JsonObject]) -> JsonObject:
    """Return an issue's texts, links, requested fields and comments."""
    remarks = [
        f"**{value_at(comment, 'author.displayName')}**, {comment.get('created')}:\n\n{markdown(comment.get('body'))}"
        for comment in comments
    ]
    parts = [markdown(fields.get("description")), *(["## Comments", *remarks] if remarks else [])]
    others = [linked_issue(link) for link in fields.get("issuelinks") or []]
    return {
        "markdown": "\n\n".join(part for part in parts if part),
        "environment": markdown(fields.get("environment")),
        # As seen from this issue, e.g. `blocks ENG-43`.
        "links": [f"{other['relation']} {other.get('key')}" for other in others],
        "more": {name: plain_value(fields[name]) for name in names if fields.get(name) is not None},
        "comments": comments,
    }


def plain_value(value: Any) -> Any:
    """Return the readable value of a field: a person's name, an option's value."""
    match value:
        case {"type": "doc"}:
            return markdown(value)
        case dict():
            return next((value[word] for word in ("displayName", "name", "value", "key") if word in value), value)
        case list():
            return [plain_value(item) for item in value]
        case _:
            return value


def linked_issue(link: JsonObject) -> JsonObject:
    """Return the other issue of a link, with the link's own id and the relation to it, e.g. `blocks`."""
    side = "outward" if "outwardIssue" in link else "inward"
    other: JsonObject = link[f"{side}Issue"]
    return {**other, "id": link.get("id"), "relation": value_at(link, f"type.{side}")}


def field_values(field: JsonObject) -> JsonObject:
    """Return the kind of a field, e.g. `array of string`, and the values that it takes, where Jira lists them."""
    kind, items = value_at(field, "schema.type"), value_at(field, "schema.items")
    values = field.get("allowedValues")
    names = [plain_value(value) for value in (values or [])[:MAX_ALLOWED_VALUES]]
    more = [f"... and {len(values) - len(names)} more"] if values and len(values) > len(names) else []
    allowed = None if values is None else [*names, *more]
    return {"type": f"{kind} of {items}" if items else kind, "allowed": allowed}


def _change(item: JsonObject) -> str:
    return f"{item.get('field')}: {_shortened(item, 'fromString')} -> {_shortened(item, 'toString')}"


def _shortened(item: JsonObject, name: str) -> str:
    text = item.get(name) or "nothing"
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[:MAX_VALUE_CHARACTERS]}..."
