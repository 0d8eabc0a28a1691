"""The fields of issues, and the values that they take."""

from typing import Annotated, Any

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, path
from mcpist_services.jira.module import IssueKey, Name, Project, issue_path, jira
from mcpist_services.jira.presentation import field_values
from mcpist_services.jira.tools.workflow import find_transition

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
    chosen = path("/{type_id}", type_id=_type_id(types, issue_type))
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


def _type_id(types: list[dict[str, Any]], wanted: str) -> str:
    """Find an issue type by its name or id."""
    found = [each["id"] for each in types if wanted.casefold() in (each["name"].casefold(), each["id"])]
    if not found:
        names = ", ".join(each["name"] for each in types)
        raise InvalidRequest(field="issue_type", problem=f"the project has these types: {names}")
    return str(found[0])
