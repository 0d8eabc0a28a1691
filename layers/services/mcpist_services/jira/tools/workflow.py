"""The statuses of an issue."""

from typing import Annotated, Any

from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.shows import shows, value_at
from mcpist.tools.declare.call import Call, Calls, given
from mcpist_services.jira.fields import comment_body, custom_fields
from mcpist_services.jira.module import IssueKey, Markdown, Name, issue_path, jira

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
    shows("status", "comment", "page_url as url"), "doTransition", scopes=("read:jira-work", "write:jira-work")
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
    for path in ("id", "name", "to.name"):
        matches = [each for each in known if str(value_at(each, path)).casefold() == wanted.casefold()]
        if len(matches) == 1:
            return matches[0]
    choices = ", ".join(f"{each['id']} {each['name']} (to {each['to']['name']})" for each in known) or "none"
    raise InvalidRequest(field="transition", problem=f"its status allows these transitions: {choices}")
