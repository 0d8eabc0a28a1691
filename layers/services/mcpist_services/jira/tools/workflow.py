"""The statuses of an issue, and the fields that issues have, with the values that they take."""

from typing import Annotated, Any

from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.shows import shows, value_at
from mcpist.tools.declare.call import Call, Calls, given, path
from mcpist.tools.declare.undo import undone_by, unless
from mcpist_services.jira.fields import comment_body, custom_fields, field_values
from mcpist_services.jira.module import IssueKey, Markdown, Name, Project, issue_path, jira

TRANSITIONS = shows(
    "id", "name", "to.name as to", "to.statusCategory.name as category", "hasScreen as has_fields", rows="transitions"
)

TransitionFields = Annotated[
    dict[str, Any], 'Fields that the transition needs, in the format of Jira, e.g. {"resolution": {"name": "Done"}}'
]


@jira.reads(TRANSITIONS, "getTransitions")
def list_transitions(issue_key: IssueKey) -> Call:
    """List the statuses that an issue can move to now, and the transitions that lead there.

    For the fields of one that has_fields, use list_transition_fields.
    """
    return Call("GET", issue_path(issue_key, "/transitions"))


@jira.writes(
    shows("status", "comment", "page_url as url"),
    "doTransition",
    scopes=("read:jira-work", "write:jira-work"),
    undo=unless(
        lambda change: change.arguments["comment"],
        "it has added a comment whose id is not known",
        undone_by(
            "transition_issue(issue_key, transition=before.fields.status.name)",
            read="get_issue(fields=null)",
            fields={"status": lambda json: value_at(json, "fields.status.name") or json["status"]},
        ),
    ),
)
def transition_issue(
    issue_key: IssueKey,
    transition: Annotated[Name, "The transition's id or name, or the status that it leads to, e.g. Done"],
    comment: Annotated[Markdown | None, "Markdown, e.g. Fixed in 1.2."] = None,
    fields: TransitionFields | None = None,
) -> Calls:
    """Move an issue to another status, optionally with a comment."""
    place, remark = issue_path(issue_key, "/transitions"), comment_body(comment)
    chosen = find_transition((yield Call("GET", place)).json["transitions"], transition)
    moved = {"status": chosen["to"]["name"], "comment": None}
    # A transition without a screen silently drops a comment; one with a screen may require it.
    within = remark if chosen.get("hasScreen") else None
    body = given(fields=custom_fields(fields) or None, update={"comment": [{"add": within}]} if within else None)
    yield Call("POST", place, json={"transition": {"id": chosen["id"]}, **body})
    if remark is None or within:
        return moved
    try:
        yield Call("POST", issue_path(issue_key, "/comment"), json=remark)
    except McpistError as error:
        return moved | {"comment": f"not added: {error.text().message}"}
    return moved


def find_transition(known: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    """Find a transition by its id, its name, or the name of the status that it leads to."""
    for field in ("id", "name", "to.name"):
        matches = [each for each in known if str(value_at(each, field)).casefold() == wanted.casefold()]
        if len(matches) == 1:
            return matches[0]
    choices = ", ".join(f"{each['id']} {each['name']} (to {each['to']['name']})" for each in known) or "none"
    raise InvalidRequest(field="transition", problem=f"its status allows these transitions: {choices}")


FIELDS = shows("id", "name", "required", "type", "allowed")


@jira.reads(shows("id", "name", "custom", "schema.type as type", "clauseNames as jql_names"), "getFields")
def list_fields(query: Annotated[str | None, "Part of the name or the id, e.g. story point"] = None) -> Calls:
    """List the fields of issues, custom ones included, with their ids and their names in JQL."""
    fields = (yield Call("GET", "/rest/api/3/field")).json
    text = (query or "").casefold()
    return [field for field in fields if text in f"{field['name']} {field['id']}".casefold()]


@jira.reads(FIELDS, "getCreateIssueMetaIssueTypeId")
def list_create_fields(
    project: Project, issue_type: Annotated[Name, "Its name or id, as list_issue_types shows, e.g. Bug"]
) -> Calls:
    """List the fields that a new issue of a type has in a project: which are required, and their allowed values."""
    place = path("/rest/api/3/issue/createmeta/{project}/issuetypes", project=project)
    types = (yield Call("GET", place, {"maxResults": 200})).json["issueTypes"]
    found = [each["id"] for each in types if issue_type.casefold() in (each["name"].casefold(), each["id"])]
    if not found:
        names = ", ".join(each["name"] for each in types)
        raise InvalidRequest(field="issue_type", problem=f"the project has these types: {names}")
    chosen = path("/{type_id}", type_id=str(found[0]))
    fields = (yield Call("GET", place + chosen, {"maxResults": 200})).json["fields"]
    return _rows({field["fieldId"]: field for field in fields})


@jira.reads(FIELDS, "getEditIssueMeta")
def list_edit_fields(issue_key: IssueKey) -> Calls:
    """List the fields of an issue that you can change, and their allowed values."""
    return _rows((yield Call("GET", issue_path(issue_key, "/editmeta"))).json["fields"])


@jira.reads(FIELDS, "getTransitions")
def list_transition_fields(
    issue_key: IssueKey,
    transition: Annotated[Name, "The transition's id or name, or the status that it leads to, e.g. Done"],
) -> Calls:
    """List the fields that moving an issue to another status takes: which are required, and their allowed values."""
    answer = yield Call("GET", issue_path(issue_key, "/transitions"), {"expand": "transitions.fields"})
    return _rows(find_transition(answer.json["transitions"], transition).get("fields") or {})


def _rows(fields: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**field, "id": id_} | field_values(field) for id_, field in fields.items()]
