"""Jira: issues with fields, transitions, watchers, links and sprints."""

from collections.abc import Mapping
from typing import Any

from tests.services.descriptions.contract import DescribedCall
from tests.services.world import Rules, World

ISSUE = "/rest/api/3/issue/{}"
ADF = {"type": "doc", "version": 1, "content": [{"type": "paragraph", "content": [{"type": "text", "text": "Steps"}]}]}
STARTS = "2026-01-31T09:00:00+00:00"
WHEN = "2026-01-31T09:00:00.000+0000"
FIELDS: dict[str, Any] = {
    "summary": "Login fails",
    "description": ADF,
    "priority": {"id": "3", "name": "Medium"},
    "labels": ["draft", "web"],
    "parent": {"id": "10007", "key": "ENG-7"},
    "duedate": None,
    "components": [{"id": "1", "name": "Login"}],
    "environment": None,
    "status": {"name": "Open"},
    "assignee": {"accountId": "5b10a2844c20165700ede21g"},
    "fixVersions": [{"id": "10001"}],
    "customfield_10020": [{"id": 9, "name": "Sprint 9", "state": "active", "boardId": 1}],
    "created": WHEN,
    "updated": WHEN,
}
STATUSES = ("Open", "Done", "In Progress")


def _issue(world: World, key: str) -> Any:
    return world.item(ISSUE.format(key))


def _change(world: World, key: str, fields: Mapping[str, Any]) -> None:
    issue = _issue(world, key)
    world.change(ISSUE.format(key), {"fields": {**issue["fields"], **_full(fields)}})


def _full(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields as Jira shows them: what was given by its name with its id, and the contrary."""
    known = [FIELDS["priority"], *FIELDS["components"], FIELDS["parent"], {"id": "2", "name": "High"}]

    def shown(value: Any) -> Any:
        match value:
            case dict() if "type" not in value:
                return next((one for one in known if value.items() <= one.items()), value)
            case list():
                return [shown(each) for each in value]
            case _:
                return value

    return {name: shown(value) for name, value in fields.items()}


def _edit(world: World, call: DescribedCall, _: str) -> Any:
    key, labels = call.params["issueIdOrKey"], list(_issue(world, call.params["issueIdOrKey"])["fields"]["labels"])
    for step in call.json.get("update", {}).get("labels", ()):
        labels = [one for one in labels if one not in step.values()] + ([step["add"]] if "add" in step else [])
    _change(world, key, {"labels": sorted(labels)} | call.json.get("fields", {}))


def _assign(world: World, call: DescribedCall, _: str) -> Any:
    account = call.json["accountId"]
    _change(world, call.params["issueIdOrKey"], {"assignee": account and {"accountId": account}})


def _create(world: World, call: DescribedCall, place: str) -> Any:
    key = f"NEW-{len(world.made) + 1}"
    fields = {**dict.fromkeys(FIELDS), "labels": [], "created": WHEN, "updated": WHEN, **_full(call.json["fields"])}
    world.create(place, {"key": key, "fields": fields}, key)
    return {"id": "1", "key": key, "self": "https://example.atlassian.net/rest/api/3/issue/1"}


def _transitions(world: World, call: DescribedCall, place: str) -> Any:
    if call.method == "get":
        status = _issue(world, call.params["issueIdOrKey"])["fields"]["status"]["name"]
        others = [(number, name) for number, name in enumerate(STATUSES) if name != status]
        return {"transitions": [{"id": str(n), "name": f"To {name}", "to": {"name": name}} for n, name in others]}
    _change(world, call.params["issueIdOrKey"], {"status": {"name": STATUSES[int(call.json["transition"]["id"])]}})
    return None


def _watchers(world: World, call: DescribedCall, place: str) -> Any:
    present = world.item(place).setdefault("watchers", [{"accountId": "somebody"}])
    account = call.json if call.method == "post" else call.query.get("accountId", [""])[0]
    others = [one for one in present if one["accountId"] != account]
    if call.method == "get":
        return {"watchers": present}
    world.change(place, {"watchers": others + [{"accountId": account}] * (call.method == "post")})
    return None


def _search(world: World, call: DescribedCall, _: str) -> Any:
    keys = call.json["jql"].removeprefix("key in (").removesuffix(")").split(", ")
    return {"issues": [_issue(world, key) for key in keys]}


def _bulk(world: World, call: DescribedCall, _: str) -> Any:
    edits = call.json["editedFieldsInput"]
    for key in call.json["selectedIssueIdsOrKeys"]:
        fields = _issue(world, key)["fields"]
        new: dict[str, Any] = {}
        for one in edits.get("labelsFields", ()):
            new["labels"] = _picked(fields["labels"], [each["name"] for each in one["labels"]], one)
        for one in edits.get("multipleVersionPickerFields", ()):
            ids = _picked([v["id"] for v in fields["fixVersions"]], [v["versionId"] for v in one["versions"]], one)
            new["fixVersions"] = [{"id": id_} for id_ in ids]
        for one in edits.get("singleSelectClearableUserPickerFields", ()):
            new["assignee"] = one["user"]
        if "priority" in edits:
            new["priority"] = {"id": edits["priority"]["priorityId"]}
        _change(world, key, new)
    return {"taskId": "10779"}


def _picked(present: list[str], given: list[str], field: Mapping[str, Any]) -> list[str]:
    others = [one for one in present if one not in given]
    return {"ADD": sorted({*present, *given}), "REPLACE": given, "REMOVE": others}[
        field["bulkEditMultiSelectFieldOption"]
    ]


def _bulk_move(world: World, call: DescribedCall, _: str) -> Any:
    for moved in call.json["bulkTransitionInputs"]:
        for key in moved["selectedIssueIdsOrKeys"]:
            _change(world, key, {"status": {"name": STATUSES[int(moved["transitionId"])]}})
    return {"taskId": "10779"}


def _sprint(world: World, call: DescribedCall, _: str) -> Any:
    id_ = int(call.params.get("sprintId", 0))
    held = [{"id": id_, "name": f"Sprint {id_}", "state": "active", "boardId": 1}] if id_ else None
    for key in call.json["issues"]:
        _change(world, key, {"customfield_10020": held})


def _link(world: World, call: DescribedCall, place: str) -> Any:
    world.create(place, dict(call.json) | {"comment": None})
    return None


def _with_links(world: World, call: DescribedCall, place: str) -> Any:
    issue = world.item(place)
    if issue is None or call.query.get("fields") != ["issuelinks"]:
        return issue
    key = call.params["issueIdOrKey"]
    links = [one for one in world.within("/rest/api/3/issueLink") if one["inwardIssue"]["key"] == key]
    seen = [{name: value for name, value in one.items() if name != "inwardIssue"} for one in links]
    return {**issue, "fields": {"issuelinks": seen}}


def _listed(rows: str, path: str) -> Any:
    def listed(world: World, call: DescribedCall, place: str) -> Any:
        items = world.within(place)
        return {rows: items, "total": len(items), "startAt": 0, "maxResults": 50} if rows else items

    return listed


def _attach(world: World, call: DescribedCall, place: str) -> Any:
    file = world.create("/rest/api/3/attachment", {"filename": "notes.txt", "size": 4})
    key = call.params["issueIdOrKey"]
    _change(world, key, {"attachment": [*(_issue(world, key)["fields"].get("attachment") or ()), file]})
    return [file]


def _remove_file(world: World, call: DescribedCall, place: str) -> Any:
    world.remove(place)
    for item in world.items.values():
        files = item.get("fields", {}).get("attachment") if isinstance(item, dict) else None
        if files:
            item["fields"]["attachment"] = [file for file in files if file["id"] != call.params["id"]]


class Jira(Rules):
    """Its rules."""

    volatile = frozenset({"id", "key", "self", "created", "updated"})
    examples = {
        "getIssue": {"id": "1", "key": "ENG-42", "fields": FIELDS},
        "getSprint": {
            "id": 1,
            "name": "Sprint 9",
            "state": "future",
            "goal": "",
            "startDate": STARTS,
            "endDate": STARTS,
        },
        "getVersion": {
            "id": "1",
            "name": "1.3",
            "released": False,
            "archived": False,
            "startDate": "2026-01-01",
            "releaseDate": "2026-02-01",
        },
    }
    fresh = {"version": {"archived": False, "released": False}, "sprint": {"state": "future"}}
    answers = {
        "getIssue": _with_links,
        "createIssue": _create,
        "editIssue": _edit,
        "assignIssue": _assign,
        "getTransitions": _transitions,
        "doTransition": _transitions,
        "getIssueWatchers": _watchers,
        "addWatcher": _watchers,
        "removeWatcher": _watchers,
        "searchAndReconsileIssuesUsingJqlPost": _search,
        "submitBulkEdit": _bulk,
        "submitBulkTransition": _bulk_move,
        "moveIssuesToSprintAndRank": _sprint,
        "moveIssuesToBacklog": _sprint,
        "linkIssues": _link,
        "getEditIssueMeta": lambda *_: {"fields": {"priority": {"allowedValues": [{"id": "2", "name": "High"}]}}},
        "getComments": _listed("comments", ""),
        "getIssueWorklog": _listed("worklogs", ""),
        "getRemoteIssueLinks": _listed("", ""),
        "addAttachment": _attach,
        "removeAttachment": _remove_file,
    }
    seeds = {
        "update_comment": "/rest/api/3/issue/{issue_key}/comment/{comment_id}",
        "delete_remote_link": "/rest/api/3/issue/{issue_key}/remotelink/{link_id}",
    }

    def seeded(self, world: World, place: str, item: Any) -> Any:
        if place.endswith("/watchers"):
            return {"watchers": [{"accountId": "somebody"}]}
        if "/project/" in place:
            return {"id": "10000", "key": "ENG"}
        if "/comment/" in place:
            return {"id": place.rsplit("/", 1)[1], "body": ADF}
        if "/remotelink/" in place:
            return {"id": int(place.rsplit("/", 1)[1]), "object": {"url": "https://example.com", "title": "Plan"}}
        if "/issueLink/" in place:
            ends = {"inwardIssue": {"key": "ENG-42"}, "outwardIssue": {"key": "ENG-43"}}
            return {"id": place.rsplit("/", 1)[1], "type": {"name": "Blocks"}, **ends}
        if place.startswith("/rest/api/3/issue/"):
            key = place.rsplit("/", 1)[1]
            return {"id": key, "key": key, "fields": FIELDS}
        return item
