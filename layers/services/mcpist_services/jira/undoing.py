"""Fields of issues as they were: what of them a change has written, and as Jira takes them again."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from mcpist.render.shows import value_at
from mcpist.tools.declare.undo import ToolCall, ToolChange, Undo
from mcpist_services.jira.fields import adf, markdown

NAMES = ("id", "key", "name", "accountId", "emailAddress", "value")  # by which an object of Jira is given
KNOWN = ("summary", "description", "priority", "labels", "parent", "duedate", "components", "environment")


def as_given(value: Any, given: Any) -> Any:
    """Return the given form of a field's value, where the value is the given one; else the value."""
    return given if _is(value, given) else value


def _is(value: Any, given: Any) -> bool:
    match value, given:
        case {"type": "doc"}, {"markdown": str(text)}:
            return markdown(value) == markdown(adf(text, ""))
        case {"type": "doc"}, str():
            return markdown(value) == markdown(adf(given, ""))
        case dict(), dict():
            return all(_is(value.get(name), each) for name, each in given.items())
        case list(), list():
            return len(value) == len(given) and all(any(_is(one, each) for one in value) for each in given)
        case dict(), str():
            return given.casefold() in (str(value.get(name)).casefold() for name in NAMES)
        case _:
            return bool(value == given) or not (value or given)


def changed_fields(issue: Any, change: ToolChange) -> dict[str, Any]:
    """Return the fields of an issue that an update writes, as it gave them where they are so."""
    fields, given = issue["fields"], _given(change)
    state = {name: as_given(fields.get(name), value) for name, value in given.items()}
    labels = fields.get("labels") or []
    for name, there in (("add_labels", True), ("remove_labels", False)):
        if named := change.arguments.get(name):
            state[name] = [label for label in named if (label in labels) == there]
    return state


def written_fields(change: ToolChange) -> dict[str, Any]:
    """Return the same fields as an update has left them."""
    some = {name: change.arguments[name] for name in ("add_labels", "remove_labels") if change.arguments.get(name)}
    return _given(change) | some


def former_fields(change: ToolChange) -> Iterable[ToolCall]:
    """Return the update that gives an issue the fields back that it had."""
    fields, labels = change.before["fields"], change.before["fields"].get("labels") or []
    again: dict[str, Any] = {"fields": {name: _plain(fields.get(name)) for name in _given(change)}}
    again["remove_labels"] = [label for label in change.arguments.get("add_labels") or [] if label not in labels]
    again["add_labels"] = [label for label in change.arguments.get("remove_labels") or [] if label in labels]
    again = {name: value for name, value in again.items() if value}
    return [ToolCall("update_issue", change.given("issue_key", "notify_users") | again)] if again else []


def _given(change: ToolChange) -> dict[str, Any]:
    return change.given(*KNOWN) | (change.arguments.get("fields") or {})


def _plain(value: Any) -> Any:
    """Return a field's value without what Jira adds to it: of an object its id."""
    match value:
        case {"accountId": str(account)}:
            return {"accountId": account}
        case {"id": id_, **others} if others.get("type") != "doc":
            return {"id": id_}
        case list():
            return [_plain(each) for each in value]
        case _:
            return value


def assignee(issue: Mapping[str, Any], change: ToolChange) -> dict[str, Any]:
    """Return the assignee of an issue as a change gave it; the project's default may be anybody."""
    given = change.arguments["account_id"]
    present = value_at(issue, "fields.assignee")
    nobody = present is None and given in (None, "none")
    return {"account_id": given if nobody or given == "-1" else as_given(present, given)}


def watches(found: Any, change: ToolChange) -> bool:
    """Whether the person of a change watches an issue."""
    return any(_is(watcher, change.arguments["account_id"]) for watcher in found["watchers"])


def untouched(issue: Any, _: ToolChange) -> dict[str, Any]:
    """Return whether an issue is as it was created, and alone."""
    fields = issue["fields"]
    parts = [name for name in ("subtasks", "issuelinks", "attachment") if fields.get(name)]
    return {"summary": fields["summary"], "parts": parts, "changed": fields["created"][:19] != fields["updated"][:19]}


def issues_of(name: str, *fields: str) -> Callable[[ToolChange], dict[str, Any]]:
    """Return a function that makes the search for the issues in a change's argument `name`."""

    def target(change: ToolChange) -> dict[str, Any]:
        keys = ", ".join(change.arguments[name])
        return {"jql": f"key in ({keys})", "fields": list(fields), "fetch_all": True}

    return target


def statuses(found: Any, _: ToolChange | None = None) -> dict[str, Any]:
    """Return the status of each issue that a search has found."""
    return {issue["key"]: issue["fields"]["status"]["name"] for issue in found["issues"]}


def former_statuses(change: ToolChange) -> Iterable[ToolCall]:
    """Return the transition of each issue back to its status."""
    known = statuses(change.before).items()
    return [ToolCall("transition_issue", {"issue_key": key, "transition": status}) for key, status in known]


def bulk_fields(found: Any, change: ToolChange) -> dict[str, Any]:
    """Return the fields of each issue that a change of many issues writes, without what it leaves."""
    given = change.arguments
    state: dict[str, Any] = {}
    for issue in found["issues"]:
        fields = issue["fields"]
        names = {"labels": fields["labels"], "fix_versions": [one["id"] for one in fields["fixVersions"]]}
        own = {name: _picked(names[name], given[name], given["how"]) for name in names if given[name] is not None}
        own |= {"priority": as_given(fields["priority"], given["priority"])} if given["priority"] else {}
        state[issue["key"]] = own | (assignee(issue, _person(change)) if given["assignee"] else {})
    return state


def _picked(present: list[str], given: list[str], how: str) -> list[str]:
    return sorted(present if how == "replace" else [one for one in given if one in present])


def _person(change: ToolChange) -> ToolChange:
    return replace(change, arguments={"account_id": change.arguments["assignee"]})


def bulk_written(change: ToolChange) -> dict[str, Any]:
    """Return the same fields as the change has left them, of the issues that were read before."""
    given = change.arguments
    own = {
        name: [] if given["how"] == "remove" else sorted(given[name])
        for name in ("labels", "fix_versions")
        if given[name] is not None
    }
    own |= {"priority": given["priority"]} if given["priority"] else {}
    own |= {"account_id": given["assignee"]} if given["assignee"] else {}
    return {issue["key"]: own for issue in value_at(change.before, "issues") or ()}


def former_bulk(change: ToolChange) -> Iterable[ToolCall]:
    """Return the update of each issue with the fields that it had."""
    names = {"labels": "labels", "fix_versions": "fixVersions", "priority": "priority", "assignee": "assignee"}
    given = [names[name] for name in change.given(*names)]
    notify = change.given("notify_users")
    for issue in change.before["issues"]:
        again = {name: _plain(issue["fields"].get(name)) for name in given}
        yield ToolCall("update_issue", {"issue_key": issue["key"], "fields": again, **notify})


def sprints(found: Any, _: ToolChange | None = None) -> dict[str, Any]:
    """Return the id of the open sprint that each issue is in, by the one field that holds sprints; None without one."""
    return {issue["key"]: next(_open_sprints(issue["fields"]), None) for issue in found["issues"]}


def _open_sprints(fields: Mapping[str, Any]) -> Iterator[int]:
    held = (each for value in fields.values() if isinstance(value, list) for each in value if isinstance(each, dict))
    yield from (each["id"] for each in held if "boardId" in each and each.get("state") != "closed")


def former_sprints(change: ToolChange) -> Iterable[ToolCall]:
    """Return the moves of issues back to where they were; their rank there is not restored."""
    places: dict[int | None, list[str]] = {}
    for key, sprint in sprints(change.before).items():
        places.setdefault(sprint, []).append(key)
    for sprint, keys in places.items():
        if sprint is None:
            yield ToolCall("move_to_backlog", {"issues": keys})
        else:
            yield ToolCall("move_to_sprint", {"sprint_id": sprint, "issues": keys})


FORMER_SPRINTS = Undo(
    calls=former_sprints,
    read="search",
    target=issues_of("issues", "*all"),
    state=sprints,
    after=lambda change: dict.fromkeys(sprints(change.before or {"issues": []}), change.arguments.get("sprint_id")),
)
