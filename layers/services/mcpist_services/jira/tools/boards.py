"""Boards and their backlogs."""

from typing import Annotated, Literal

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.call import Call, given, path
from mcpist_services.jira.module import FOUND, Board, FieldIds, IssueKey, Jql, board_path, jira, offset_paging
from mcpist_services.jira.presentation import LIST_FIELDS, other_fields

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
    project_key_or_id: Annotated[str | None, "Only the boards of this project, e.g. ENG"] = None,
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


@jira.writes(DONE, "moveIssuesToBacklog", idempotent=True, scopes=("write:board-scope:jira-software",))
def move_to_backlog(issues: MovedIssues) -> Call:
    """Take issues out of their sprints, back to the backlog."""
    return Call("POST", "/rest/agile/1.0/backlog/issue", json={"issues": issues})
