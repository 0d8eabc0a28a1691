"""Boards and sprints."""

from typing import Annotated, Literal

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.call import Call, given, path
from mcpist_services.jira.module import (
    FOUND,
    SEARCH,
    Board,
    FieldIds,
    IssueKey,
    Jql,
    board_path,
    jira,
    offset_paging,
    search_call,
)

BOARDS = shows("id", "name", "type", "location.projectKey as project", "page_url as url", rows="values")
SPRINTS = shows("id", "name", "state", "startDate as start", "endDate as end", "goal", "page_url as url", rows="values")
AGILE = offset_paging(max_size=50)

Sprint = Annotated[int, Field(ge=1), "The id that list_sprints shows"]


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


@jira.lists(SPRINTS, "getAllSprints", paging=AGILE, page_path=board_path, scopes=("read:sprint:jira-software",))
def list_sprints(
    board_id: Board,
    state: Annotated[list[Literal["future", "active", "closed"]] | None, "All if left out, e.g. active"] = None,
) -> Call:
    """List the sprints of a board."""
    place = path("/rest/agile/1.0/board/{board_id}/sprint", board_id=board_id)
    return Call("GET", place, given(state=",".join(state) if state else None))


@jira.lists(FOUND, "searchAndReconsileIssuesUsingJqlPost", paging=SEARCH)
def list_sprint_issues(
    sprint_id: Sprint,
    jql: Annotated[Jql | None, "A further condition, e.g. statusCategory != Done"] = None,
    fields: FieldIds | None = None,
) -> Call:
    """List the issues of a sprint, in the order of the board."""
    condition = f" AND ({jql})" if jql else ""
    return search_call(f"sprint = {sprint_id}{condition} ORDER BY rank", fields)


@jira.writes(DONE, "moveIssuesToSprintAndRank", idempotent=True, scopes=("write:sprint:jira-software",))
def move_to_sprint(
    sprint_id: Sprint,
    issues: Annotated[list[IssueKey], Field(min_length=1, max_length=50), "Keys or ids, e.g. ENG-42, ENG-43"],
    rank_before_issue: Annotated[IssueKey | None, "Put them before this one, e.g. ENG-50"] = None,
    rank_after_issue: Annotated[IssueKey | None, "Put them after this one, e.g. ENG-41"] = None,
) -> Call:
    """Move issues to an active or future sprint."""
    body = given(issues=issues, rankBeforeIssue=rank_before_issue, rankAfterIssue=rank_after_issue)
    return Call("POST", path("/rest/agile/1.0/sprint/{sprint_id}/issue", sprint_id=sprint_id), json=body)
