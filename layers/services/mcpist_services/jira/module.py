"""Jira: issues with their comments and worklogs, projects, boards, sprints.

Reference: https://developer.atlassian.com/cloud/jira/platform/rest/v3/ and, for boards and sprints,
https://developer.atlassian.com/cloud/jira/software/rest/
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import Field

from mcpist.errors import InvalidRequest
from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls, ServiceResponse, Work, path, path_template
from mcpist.tools.declare.dialect import Refusals
from mcpist.tools.declare.module import Module, Scopes
from mcpist.tools.declare.paging import ExtraColumns, NextPage, Paging, Position, by_offset
from mcpist.tools.declare.pasted import address_reader, from_url
from mcpist.tools.declare.tool import PagePath
from mcpist_services.atlassian.refusals import read_refusal
from mcpist_services.jira.fields import LIST_FIELDS, other_fields

issue_path = path_template("/rest/api/3/issue/{issue_key}")


def _is_last(page: Any, end: int) -> bool:
    """Whether a page is the last: newer lists tell it, older ones give only the number of all items."""
    return bool(page["isLast"]) if "isLast" in page else end >= page.get("total", end)


def _next_token(_: Call, answer: ServiceResponse, __: int) -> Position:
    token = answer.json.get("nextPageToken")
    return {"nextPageToken": token} if token and not answer.json.get("isLast") else {}


_NEXT_OFFSET = by_offset("startAt", last=_is_last)


def offset_paging(
    next_page: NextPage = _NEXT_OFFSET, max_size: int = 100, extra_columns: ExtraColumns | None = None
) -> Paging:
    """Paging by offset."""
    return Paging("maxResults", max_size, ("startAt",), next_page, extra_columns)


def _page_path(item: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Return the path of an issue's or a project's page; an item without a key belongs to the issue that was named."""
    key = item.get("key") or arguments.get("issue_key", "")
    return path("/browse/{key}", key=key) if key and not key.isdecimal() else None


def remark_path(query: str) -> PagePath:
    """Return the paths of an issue's comments or worklogs, from the name in their query."""

    def page_path(item: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
        page = _page_path({}, arguments)
        return f"{page}?{query}={item['id']}" if page and item.get("id") else page

    return page_path


def board_path(item: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """Return the path of a board, or of the board of a sprint."""
    board = arguments.get("board_id") or item.get("originBoardId") or item.get("id")
    return f"/secure/RapidBoard.jspa?rapidView={board}"


jira = Module(
    "jira",
    __doc__,
    api_version="3",
    host="https://api.atlassian.com/ex/jira/{account}",
    labels={"*": ("internal",)},
    headers={"accept": "application/json"},
    paging=offset_paging(),
    refusals=Refusals(read_refusal, list_fields=("errorMessages",)),
    scopes=Scopes(reads=("read:jira-work",), writes=("write:jira-work",), destroys=("write:jira-work",)),
    page_path=_page_path,
    category="project management",
    tags=("issues", "agile"),
)

ISSUE = (
    "key",
    "fields.summary as summary",
    "fields.status.name as status",
    "fields.priority.name as priority",
    "fields.assignee.displayName as assignee",
    "fields.created as created",
    "fields.updated as updated",
    "page_url as url",
)
CHANGED = shows("done", "page_url as url")
FOUND = shows(*ISSUE, "more", rows="issues")

_SITE = r"https://(?P<site>[\w.-]+\.atlassian\.net)/"
_KEY = r"(?P<issue_key>[A-Za-z][A-Za-z0-9_]*-[0-9]+)\b"
_QUERY = rf"{_SITE}[^?#]*\?(?:[^#]*&)?"
ADDRESSES = address_reader(
    rf"{_SITE}(?:browse|(?:jira/[\w/]*)?issues)/{_KEY}",
    rf"{_SITE}jira/[\w/]*projects/\w+/(?:issues|queues/[\w/]*)/{_KEY}",
    rf"{_SITE}jira/servicedesk/projects/\w+/queues/(?:custom/)?\d+/{_KEY}",
    rf"{_QUERY}selectedIssue={_KEY}",
    rf"{_SITE}(?:browse|(?:jira/[\w/]*)?projects)/(?P<project__project_key_or_id>[A-Za-z]\w*)(?![\w-])",
    rf"{_SITE}jira/[\w/]*boards/(?P<board_id>\d+)",
    rf"{_QUERY}rapidView=(?P<board_id>\d+)",
    rf"{_QUERY}sprints?=(?P<sprint_id>\d+)",
    rf"{_QUERY}focusedCommentId=(?P<comment_id>\d+)",
    rf"{_SITE}[^?#]*projects/\w+/versions/(?P<version_id>\d+)",
    rf"{_QUERY}jql=(?P<jql>[^&#]+)",
)
IssueKey = Annotated[
    str,
    Field(pattern=r"^(?:[A-Za-z][A-Za-z0-9_]*-[0-9]+|[0-9]+)$"),
    from_url(ADDRESSES, "issue_key"),
    "Its key or id, e.g. ENG-42",
]
Project = Annotated[
    str,
    Field(min_length=1),
    from_url(ADDRESSES, "project__project_key_or_id"),
    "The project's key or id, e.g. ENG",
]
Name = Annotated[str, Field(min_length=1, max_length=255)]
Markdown = Annotated[str, Field(max_length=32_767)]
Jql = Annotated[str, Field(min_length=1), from_url(ADDRESSES, "jql")]
FieldIds = Annotated[list[Name], "More fields to show, by the ids of list_fields, e.g. customfield_10016"]
Board = Annotated[int, Field(ge=1), from_url(ADDRESSES, "board_id"), "The id that list_boards shows"]

SEARCH = Paging("maxResults", 100, ("nextPageToken",), _next_token, other_fields)


def search_call(jql: str, fields: list[str] | None) -> Call:
    """Search by POST, since a query may be too long for a URL, and with fields, since Jira else returns only ids."""
    names = list(dict.fromkeys([*LIST_FIELDS, *(fields or [])]))
    return Call("POST", "/rest/api/3/search/jql", json={"jql": jql, "fields": names})


def for_account(person: str | None, make: Callable[[str | None], Call | Calls]) -> Work:
    """Return the request for a person by account id, after the one that finds who has an e-mail address."""
    return _for_address(person, make) if person and "@" in person else make(person)


def _for_address(address: str, make: Callable[[str | None], Call | Calls]) -> Calls:
    found = (yield Call("GET", "/rest/api/3/user/search", {"query": address})).json
    own = [user for user in found if str(user.get("emailAddress", "")).casefold() == address.casefold()]
    # Jira finds people by addresses that it may not show.
    people = [user["accountId"] for user in own or found if user.get("active", True)]
    if len(people) != 1:
        problem = f"{len(people) or 'no'} people have this address in Jira: give the id that search_users shows"
        raise InvalidRequest(field="account_id", problem=problem)
    work = make(people[0])
    return work if isinstance(work, Call) else (yield from work)
