"""The tools of GitHub in the order in which they are listed, then its resources and prompts."""

from typing import Annotated

from mcpist_services.github.module import IssueNumber, Owner, Repo, github

from mcpist_services.github.tools import repositories, files, issues, planning, projects, discussions, pulls  # isort: skip
from mcpist_services.github.tools import reviews, actions, releases, alerts, notifications  # isort: skip

github.addresses(
    "github://{owner}/{repo}/files/{+path}", files.get_file, "file", "A file of a repository's default branch."
)
github.addresses("github://{owner}/{repo}/issues/{issue_number}", issues.get_issue, "issue", "An issue with its text.")


@github.prompt(issues.list_issues, issues.list_labels, issues.list_issue_comments)
def triage_issues(owner: Owner, repo: Repo) -> None:
    """Sort a repository's open issues by what should happen next."""


@github.prompt(pulls.get_pull, pulls.list_pull_files, reviews.list_reviews)
def review_pull(owner: Owner, repo: Repo, pull_number: Annotated[IssueNumber, "The pull request's number"]) -> None:
    """Review a pull request."""


github.completes("owner", repositories.list_repos, "owner")
github.completes("repo", repositories.list_repos, "repo")
