"""What is put beside Jira's own JSON for people: rich text as Markdown, and nested things in words."""

from typing import Any

from mcpist.render.shows import at
from mcpist_services.jira.adf import markdown

VALUE_CHARACTERS = 200  # of a value that changed: it may be a whole description
SHOWN = ("summary", "status", "priority", "assignee", "updated")  # of an issue in a list

type Thing = dict[str, Any]


def said(thing: Thing, _: Any = None) -> Thing:
    """The text of a comment or a worklog."""
    return {"markdown": markdown(thing.get("body") or thing.get("comment"))}


def more(issue: Thing, _: Any = None) -> Thing:
    """The fields of an issue in a list that no column shows."""
    fields = issue.get("fields") or {}
    return {"more": {name: words(value) for name, value in fields.items() if name not in SHOWN and value is not None}}


def changed(change: Thing, _: Any = None) -> Thing:
    """What changed at once, a text a field."""
    items = change.get("items") or []
    return {
        "changes": [f"{item.get('field')}: {_cut(item, 'fromString')} -> {_cut(item, 'toString')}" for item in items]
    }


def page(fields: Thing, names: list[str], comments: list[Thing]) -> Thing:
    """An issue's texts, its links, and some of its fields."""
    remarks = [f"**{at(one, 'author.displayName')}**, {one.get('created')}:\n\n{_text(one)}" for one in comments]
    parts = [markdown(fields.get("description")), *(["## Comments", *remarks] if remarks else [])]
    return {
        "markdown": "\n\n".join(part for part in parts if part),
        "environment": markdown(fields.get("environment")),
        "links": [_link(link) for link in fields.get("issuelinks") or []],
        "more": {name: words(fields[name]) for name in names if fields.get(name) is not None},
        "comments": comments,
    }


def words(value: Any) -> Any:
    """A field's value without what surrounds it in Jira's JSON: a person's name, an option's value."""
    match value:
        case {"type": "doc"}:
            return markdown(value)
        case dict():
            return next((value[word] for word in ("displayName", "name", "value", "key") if word in value), value)
        case list():
            return [words(item) for item in value]
        case _:
            return value


def _text(thing: Thing) -> Any:
    return said(thing)["markdown"]


def _link(link: Thing) -> str:
    """`blocks ENG-43`: the words of the side that the other issue is on."""
    side = "outward" if "outwardIssue" in link else "inward"
    return f"{at(link, f'type.{side}')} {at(link, f'{side}Issue.key')}"


def _cut(item: Thing, name: str) -> str:
    text = item.get(name) or "nothing"
    return text if len(text) <= VALUE_CHARACTERS else f"{text[:VALUE_CHARACTERS]}..."
