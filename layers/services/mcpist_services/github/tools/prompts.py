"""Resources and prompts of GitHub."""

from typing import Annotated

from mcpist_services.github.module import Number, Owner, Repo, github
from mcpist_services.github.tools.files import get_file
from mcpist_services.github.tools.issues import get_issue, list_issue_comments, list_issues, list_labels
from mcpist_services.github.tools.pulls import get_pull, list_pull_files, list_reviews
from mcpist_services.github.tools.repositories import list_repos

github.addresses("github://{owner}/{repo}/files/{+path}", get_file, "file", "A file of a repository's default branch.")
github.addresses("github://{owner}/{repo}/issues/{issue_number}", get_issue, "issue", "An issue with its text.")


@github.prompt(list_issues, list_labels, list_issue_comments)
def triage_issues(owner: Owner, repo: Repo) -> None:
    """Sort a repository's open issues by what should happen next."""


@github.prompt(get_pull, list_pull_files, list_reviews)
def review_pull(owner: Owner, repo: Repo, pull_number: Annotated[Number, "The pull request's number"]) -> None:
    """Review a pull request."""


github.completes("owner", list_repos, "owner")
github.completes("repo", list_repos, "repo")
