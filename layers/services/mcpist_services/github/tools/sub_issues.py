"""Sub-issues: the parts that an issue is divided into."""

from typing import Annotated

from mcpist.render.shows import shows
from mcpist.tools.declare.call import Call, Calls
from mcpist_services.github.module import CHANGED, Number, Owner, Repo, github, link_paging, repo_path, repository_of

IN_REPOSITORIES = link_paging(lambda issue, _: repository_of(issue.get("repository_url")))
SUB_ISSUES = shows(
    "owner",
    "repo",
    "number",
    "title",
    "state",
    "assignees[*].login as assignees",
    "created_at as created",
    "html_url as url",
)

SubIssue = Annotated[Number, "The number of the issue that is a part"]
SubRepo = Annotated[Repo | None, "The part's repository, of the same owner; the same if left out, e.g. hello-docs"]


@github.lists(SUB_ISSUES, "issues/list-sub-issues", paging=IN_REPOSITORIES)
def list_sub_issues(owner: Owner, repo: Repo, issue_number: Number) -> Call:
    """List the sub-issues of an issue."""
    return Call("GET", repo_path(owner, repo, "/issues/{number}/sub_issues", number=issue_number))


@github.writes(CHANGED, "issues/add-sub-issue")
def add_sub_issue(
    owner: Owner, repo: Repo, issue_number: Number, sub_issue: SubIssue, sub_repo: SubRepo = None
) -> Calls:
    """Make an issue a sub-issue of another."""
    part = yield from _id_of(owner, sub_repo or repo, sub_issue)
    place = repo_path(owner, repo, "/issues/{number}/sub_issues", number=issue_number)
    return Call("POST", place, json={"sub_issue_id": part})


@github.writes(CHANGED, "issues/remove-sub-issue")
def remove_sub_issue(
    owner: Owner, repo: Repo, issue_number: Number, sub_issue: SubIssue, sub_repo: SubRepo = None
) -> Calls:
    """Let an issue be no sub-issue of another any more; both issues stay."""
    part = yield from _id_of(owner, sub_repo or repo, sub_issue)
    place = repo_path(owner, repo, "/issues/{number}/sub_issue", number=issue_number)
    return Call("DELETE", place, json={"sub_issue_id": part})


def _id_of(owner: str, repo: str, number: int) -> Calls:
    return (yield Call("GET", repo_path(owner, repo, "/issues/{number}", number=number))).json["id"]
