"""Comments and worklogs of an issue."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from mcpist.render.shows import DONE, shows
from mcpist.tools.declare.argument_types import Moment
from mcpist.tools.declare.call import Call, given
from mcpist.tools.declare.pasted import from_url
from mcpist.tools.declare.undo import ToolChange, restores, row_where, undone_by
from mcpist_services.jira.fields import adf, comment_text, markdown
from mcpist_services.jira.module import ADDRESSES, IssueKey, Markdown, issue_path, jira, offset_paging, remark_path

WRITTEN = shows("id", "created", "page_url as url")
COMMENTS = shows(
    "id", "author.displayName as author", "created", "markdown as body", "page_url as url", rows="comments"
)
WORKLOGS = shows(
    "id",
    "author.displayName as author",
    "created",
    "started",
    "timeSpent as time_spent",
    "markdown as comment",
    "page_url as url",
    rows="worklogs",
)
COMMENT_PAGE, WORKLOG_PAGE = remark_path("focusedCommentId"), remark_path("focusedWorklogId")

CommentId = Annotated[
    str, Field(pattern=r"^[0-9]+$"), from_url(ADDRESSES, "comment_id"), "The id that list_comments shows, e.g. 10050"
]
Time = Annotated[Moment, "e.g. 2026-01-31T09:00:00Z"]
Duration = Annotated[str, Field(pattern=r"^\s*\d+(\.\d+)?[wdhm](\s+\d+(\.\d+)?[wdhm])*\s*$")]
CommentOrder = Annotated[Literal["created", "-created"], "-created: the newest first"]
Adjustment = Annotated[Literal["auto", "leave", "new", "manual"], "How the remaining estimate changes"]


@jira.lists(COMMENTS, "getComments", paging=offset_paging(extra_columns=comment_text), page_path=COMMENT_PAGE)
def list_comments(issue_key: IssueKey, order_by: CommentOrder = "created") -> Call:
    """List the comments of an issue."""
    return Call("GET", issue_path(issue_key, "/comment"), {"orderBy": order_by})


def _body(comment: Any) -> str:
    return markdown(comment.get("body"))


@jira.writes(
    WRITTEN,
    "addComment",
    page_path=COMMENT_PAGE,
    undo=undone_by(
        "delete_comment(issue_key, comment_id=answer.id)",
        read='list_comments(order_by="-created")',
        select=row_where("id", "answer.id", rows="comments"),
        creates=True,
        fields={"body": _body},
    ),
    tells={"watchers": lambda _: True},
)
def add_comment(
    issue_key: IssueKey,
    body: Annotated[
        Markdown, Field(min_length=1), "Markdown; [@name](mention:account_id) mentions a person, e.g. Fixed."
    ],
    internal: Annotated[bool, "In a service project: visible to agents only"] = False,
) -> Call:
    """Comment on an issue."""
    properties = [{"key": "sd.public.comment", "value": {"internal": True}}] if internal else None
    content = {"body": adf(body, "body"), **given(properties=properties)}
    return Call("POST", issue_path(issue_key, "/comment"), json=content)


@jira.writes(
    shows("id", "updated", "page_url as url"),
    "updateComment",
    idempotent=True,
    page_path=COMMENT_PAGE,
    undo=restores(
        'list_comments(order_by="-created")',
        select=row_where("id", "arguments.comment_id", rows="comments"),
        body=_body,
    ),
)
def update_comment(
    issue_key: IssueKey,
    comment_id: CommentId,
    body: Annotated[Markdown, Field(min_length=1), "Markdown; replaces the text, e.g. Fixed in 1.2."],
) -> Call:
    """Change a comment."""
    place = issue_path(issue_key, "/comment/{comment_id}", comment_id=comment_id)
    return Call("PUT", place, json={"body": adf(body, "body")})


@jira.destroys(DONE, "deleteComment", irreversible="Jira keeps no deleted comment")
def delete_comment(issue_key: IssueKey, comment_id: CommentId) -> Call:
    """Delete a comment. This cannot be undone."""
    return Call("DELETE", issue_path(issue_key, "/comment/{comment_id}", comment_id=comment_id))


@jira.lists(WORKLOGS, "getIssueWorklog", paging=offset_paging(extra_columns=comment_text), page_path=WORKLOG_PAGE)
def list_worklogs(issue_key: IssueKey, started_after: Time | None = None, started_before: Time | None = None) -> Call:
    """List the work that was logged on an issue: who, when, how long."""
    query = given(startedAfter=_milliseconds(started_after), startedBefore=_milliseconds(started_before))
    return Call("GET", issue_path(issue_key, "/worklog"), query)


def _adjustment(change: ToolChange) -> str:
    """Return how the estimate changes back; what a new one has replaced is not known."""
    how: str = change.arguments["adjust_estimate"]
    return "leave" if how == "new" else how


@jira.writes(
    shows("id", "timeSpent as time_spent", "started", "page_url as url"),
    "addWorklog",
    page_path=WORKLOG_PAGE,
    undo=undone_by(
        "delete_worklog(issue_key, worklog_id=answer.id, increase_by=arguments.reduce_by)",
        read="list_worklogs(started_after=null)",
        select=row_where("id", "answer.id", rows="worklogs"),
        creates=True,
        fields={"time_spent": "timeSpent", "comment": lambda log: markdown(log.get("comment"))},
        adjust_estimate=_adjustment,
        new_estimate=lambda _: None,
    ),
)
def add_worklog(
    issue_key: IssueKey,
    time_spent: Annotated[Duration, "Weeks, days, hours and minutes, e.g. 3h 20m"],
    started: Annotated[Time | None, "Now if left out, e.g. 2026-01-31T09:00:00Z"] = None,
    comment: Annotated[Markdown | None, "Markdown, e.g. Wrote the tests."] = None,
    adjust_estimate: Adjustment = "auto",
    new_estimate: Annotated[Duration | None, "The new remaining estimate, with new, e.g. 2h"] = None,
    reduce_by: Annotated[Duration | None, "Subtracted from the remaining estimate, with manual, e.g. 30m"] = None,
) -> Call:
    """Log work on an issue."""
    query = given(adjustEstimate=adjust_estimate, newEstimate=new_estimate, reduceBy=reduce_by)
    remark = None if comment is None else adf(comment, "comment")
    body = given(timeSpent=time_spent, started=_worklog_time(started), comment=remark)
    return Call("POST", issue_path(issue_key, "/worklog"), query, json=body)


@jira.destroys(DONE, "deleteWorklog", irreversible="Jira keeps no deleted worklog")
def delete_worklog(
    issue_key: IssueKey,
    worklog_id: Annotated[str, Field(pattern=r"^[0-9]+$"), "The id that list_worklogs shows, e.g. 10050"],
    adjust_estimate: Adjustment = "auto",
    new_estimate: Annotated[Duration | None, "The new remaining estimate, with new, e.g. 2h"] = None,
    increase_by: Annotated[Duration | None, "Added to the remaining estimate, with manual, e.g. 30m"] = None,
) -> Call:
    """Delete work that was logged on an issue."""
    query = given(adjustEstimate=adjust_estimate, newEstimate=new_estimate, increaseBy=increase_by)
    return Call("DELETE", issue_path(issue_key, "/worklog/{worklog_id}", worklog_id=worklog_id), query)


def _worklog_time(started: str | None) -> str | None:
    """Return a time in the only format of worklogs: with milliseconds, and an offset without a colon."""
    if started is None:
        return None
    time = datetime.fromisoformat(started)
    return f"{time:%Y-%m-%dT%H:%M:%S}.{time.microsecond // 1000:03}{time:%z}"


def _milliseconds(moment: str | None) -> int | None:
    return None if moment is None else int(datetime.fromisoformat(moment).timestamp() * 1000)
