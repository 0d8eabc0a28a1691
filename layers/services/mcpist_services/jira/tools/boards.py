"""Boards with their backlogs, and sprints: plan, start, close."""

from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.argument_types import Moment
from mcpist.tools.declare.call import Call, changes, comma_separated, given, path, path_template
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import restores, undone_by
from mcpist_services.jira.fields import LIST_FIELDS, other_fields
from mcpist_services.jira.module import (
    ADDRESSES,
    FOUND,
    SEARCH,
    Board,
    FieldIds,
    IssueKey,
    Jql,
    Project,
    board_path,
    jira,
    offset_paging,
    search_call,
)
from mcpist_services.jira.undoing import FORMER_SPRINTS

_sprint_path = path_template("/rest/agile/1.0/sprint/{sprint_id}")
BOARDS = shows("id", "name", "type", "location.projectKey as project", "page_url as url", rows="values")
AGILE = offset_paging(max_size=50)
BACKLOG = offset_paging(max_size=50, extra_columns=other_fields)

Condition = Annotated[Jql, "A further condition, e.g. statusCategory != Done"]
MovedIssues = Annotated[list[IssueKey], Field(min_length=1, max_length=50), "Keys or ids, e.g. ENG-42, ENG-43"]


@jira.lists(
    BOARDS,
    "getAllBoards",
    paging=AGILE,
    page_path=board_path,
    scopes=("read:project:jira", "read:board-scope:jira-software"),
)
def list_boards(
    name: Annotated[str | None, "Part of the name, e.g. team"] = None,
    project_key_or_id: Annotated[Project | None, "Only the boards of this project, e.g. ENG"] = None,
    type: Literal["scrum", "kanban", "simple"] | None = None,  # noqa: A002
) -> Call:
    """List the boards that you can see."""
    return Call("GET", "/rest/agile/1.0/board", given(name=name, projectKeyOrId=project_key_or_id, type=type))


@jira.lists(
    FOUND,
    "getIssuesForBacklog",
    paging=BACKLOG,
    scopes=("read:board-scope:jira-software", "read:issue-details:jira"),
)
def list_backlog(board_id: Board, jql: Condition | None = None, fields: FieldIds | None = None) -> Call:
    """List the issues of a board's backlog, in its order: open, and in no active or future sprint."""
    names = list(dict.fromkeys([*LIST_FIELDS, *(fields or [])]))
    place = path("/rest/agile/1.0/board/{board_id}/backlog", board_id=board_id)
    return Call("GET", place, given(jql=jql, fields=",".join(names)))


@jira.writes(
    DONE, "moveIssuesToBacklog", idempotent=True, scopes=("write:board-scope:jira-software",), undo=FORMER_SPRINTS
)
def move_to_backlog(issues: MovedIssues) -> Call:
    """Take issues out of their sprints, back to the backlog."""
    return Call("POST", "/rest/agile/1.0/backlog/issue", json={"issues": issues})


SPRINT = ("id", "name", "state", "startDate as start", "endDate as end", "goal", "page_url as url")
SPRINTS = shows(*SPRINT, rows="values")
READING = ("read:sprint:jira-software",)
WRITING = ("write:sprint:jira-software",)
STARTED = {"start": "2026-01-26T09:00:00+09:00", "end": "2026-02-06T18:00:00+09:00"}

Sprint = Annotated[int, Field(ge=1), from_url(ADDRESSES, "sprint_id"), "The id that list_sprints shows"]
SprintName = Annotated[str, Field(min_length=1), "e.g. Sprint 10"]
Goal = Annotated[str, "In one sentence, e.g. Log in everywhere"]
Start = Annotated[Moment, "e.g. 2026-01-26T09:00:00+09:00"]
End = Annotated[Moment, "e.g. 2026-02-06T18:00:00+09:00"]


@jira.lists(SPRINTS, "getAllSprints", paging=AGILE, page_path=board_path, scopes=READING)
def list_sprints(
    board_id: Board,
    state: Annotated[list[Literal["future", "active", "closed"]] | None, "All if left out, e.g. active"] = None,
) -> Call:
    """List the sprints of a board."""
    place = path("/rest/agile/1.0/board/{board_id}/sprint", board_id=board_id)
    return Call("GET", place, given(state=comma_separated(state)))


@jira.reads(shows(*SPRINT), "getSprint", page_path=board_path, scopes=READING)
def get_sprint(sprint_id: Sprint) -> Call:
    """Read one sprint: its state, its dates, its goal."""
    return Call("GET", _sprint_path(sprint_id))


@jira.lists(FOUND, "searchAndReconsileIssuesUsingJqlPost", paging=SEARCH)
def list_sprint_issues(
    sprint_id: Sprint,
    jql: Condition | None = None,
    fields: FieldIds | None = None,
) -> Call:
    """List the issues of a sprint, in the order of the board."""
    condition = f" AND ({jql})" if jql else ""
    return search_call(f"sprint = {sprint_id}{condition} ORDER BY rank", fields)


@jira.writes(DONE, "moveIssuesToSprintAndRank", idempotent=True, scopes=WRITING, undo=FORMER_SPRINTS)
def move_to_sprint(
    sprint_id: Sprint,
    issues: MovedIssues,
    rank_before_issue: Annotated[IssueKey | None, "Put them before this one, e.g. ENG-50"] = None,
    rank_after_issue: Annotated[IssueKey | None, "Put them after this one, e.g. ENG-41"] = None,
) -> Call:
    """Move issues to an active or future sprint."""
    body = given(issues=issues, rankBeforeIssue=rank_before_issue, rankAfterIssue=rank_after_issue)
    return Call("POST", path("/rest/agile/1.0/sprint/{sprint_id}/issue", sprint_id=sprint_id), json=body)


PLANNED: dict[str, Any] = {
    "name": "name",
    "goal": lambda sprint: sprint.get("goal") or "",
    "start": "startDate",
    "end": "endDate",
}


@jira.writes(
    shows(*SPRINT),
    "createSprint",
    page_path=board_path,
    scopes=WRITING,
    undo=undone_by(
        "delete_sprint(sprint_id=answer.id)", read="get_sprint", creates=True, fields=PLANNED | {"state": "state"}
    ),
)
def create_sprint(
    board_id: Board,
    name: SprintName,
    goal: Goal | None = None,
    start: Start | None = None,
    end: End | None = None,
) -> Call:
    """Plan a sprint on a board; it begins with start_sprint."""
    body = given(originBoardId=board_id, name=name, goal=goal, startDate=start, endDate=end)
    return Call("POST", "/rest/agile/1.0/sprint", json=body)


@jira.writes(
    shows(*SPRINT),
    "partiallyUpdateSprint",
    idempotent=True,
    page_path=board_path,
    scopes=WRITING,
    uses=({"goal": "Log in"},),
    undo=restores("get_sprint", **PLANNED),
)
def update_sprint(
    sprint_id: Sprint,
    name: SprintName | None = None,
    goal: Goal | None = None,
    start: Start | None = None,
    end: End | None = None,
) -> Call:
    """Change the name, the goal or the dates of a sprint."""
    return _change(sprint_id, changes(name=name, goal=goal, startDate=start, endDate=end))


@jira.writes(
    shows(*SPRINT),
    "partiallyUpdateSprint",
    idempotent=True,
    page_path=board_path,
    scopes=WRITING,
    uses=(STARTED,),
    irreversible="Jira takes a sprint back to no earlier state",
)
def start_sprint(
    sprint_id: Sprint,
    end: Annotated[End | None, "Needed unless the sprint has one, e.g. 2026-02-06T18:00:00+09:00"] = None,
    start: Start = "now",
) -> Call:
    """Start a future sprint."""
    return _change(sprint_id, given(state="active", startDate=start, endDate=end))


@jira.writes(
    shows(*SPRINT),
    "partiallyUpdateSprint",
    idempotent=True,
    page_path=board_path,
    scopes=WRITING,
    irreversible="Jira takes a sprint back to no earlier state",
)
def close_sprint(sprint_id: Sprint) -> Call:
    """Close the active sprint. Its open issues go to the backlog: before, move them on with move_to_sprint."""
    return _change(sprint_id, {"state": "closed"})


@jira.destroys(
    DONE, "deleteSprint", scopes=("delete:sprint:jira-software",), irreversible="Jira keeps no deleted sprint"
)
def delete_sprint(sprint_id: Sprint) -> Call:
    """Delete a sprint; its issues go to the backlog."""
    return Call("DELETE", _sprint_path(sprint_id))


def _change(sprint_id: int, body: dict[str, str]) -> Call:
    return Call("POST", _sprint_path(sprint_id), json=body)
