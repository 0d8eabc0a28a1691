"""The statuses of an issue."""

from typing import Annotated, Any

from mcpist.errors import InvalidRequest, McpistError
from mcpist.render.shows import shows, value_at
from mcpist.tools.call import Call, Calls, given
from mcpist_services.jira.fields import comment_body, custom_fields
from mcpist_services.jira.module import IssueKey, Markdown, Name, issue_path, jira

TRANSITIONS = shows("id", "name", "to.name as to", "to.statusCategory.name as category", rows="transitions")

TransitionFields = Annotated[
    dict[str, Any], 'Fields that the transition needs, in the format of Jira, e.g. {"resolution": {"name": "Done"}}'
]


@jira.reads(TRANSITIONS, "getTransitions")
def list_transitions(issue_key: IssueKey) -> Call:
    """List the statuses that an issue can move to now, and the transitions that lead there."""
    return Call("GET", issue_path(issue_key, "/transitions"))


@jira.writes(shows("status", "comment"), "doTransition")
def transition_issue(
    issue_key: IssueKey,
    transition: Annotated[Name, "The transition's id or name, or the status that it leads to, e.g. Done"],
    comment: Annotated[Markdown | None, "Markdown, e.g. Fixed in 1.2."] = None,
    fields: TransitionFields | None = None,
) -> Calls:
    """Move an issue to another status, optionally with a comment."""
    place, remark = issue_path(issue_key, "/transitions"), comment_body(comment)
    found = _transition((yield Call("GET", place)).json["transitions"], transition)
    moved = {"status": found["to"]["name"], "comment": None}
    # A transition without a screen drops a comment in silence; one with a screen may insist on it.
    within = remark if found.get("hasScreen") else None
    body = given(fields=custom_fields(fields) or None, update={"comment": [{"add": within}]} if within else None)
    yield Call("POST", place, json={"transition": {"id": found["id"]}, **body})
    if remark is None or within:
        return moved
    try:
        yield Call("POST", issue_path(issue_key, "/comment"), json=remark)
    except McpistError as error:
        return moved | {"comment": f"not added: {error.text().message}"}
    return moved


def _transition(known: list[dict[str, Any]], wanted: str) -> dict[str, Any]:
    """The transition that is meant: by its id, its name, or the one that leads to a status of this name."""
    word = wanted.casefold()
    for says in ("id", "name", "to.name"):
        meant = [found for found in known if str(value_at(found, says)).casefold() == word]
        if len(meant) == 1:
            return meant[0]
    choices = ", ".join(f"{found['id']} {found['name']} (to {found['to']['name']})" for found in known) or "none"
    raise InvalidRequest(field="transition", problem=f"from its status the issue can take: {choices}")
