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
def triage_issues(owner: Owner, repo: Repo) -> str:
    """Sort a repository's open issues by what should happen next."""
    return (
        f"Triage the open issues of {owner}/{repo} on GitHub. In one batch, list the open issues (github.list_issues) "
        "and the repository's labels (github.list_labels); read the comments of those that are unclear "
        "(github.list_issue_comments). Group the issues into: fix now, plan, needs an answer, duplicate, close. Say "
        "why in one line each, and propose labels. Change nothing before I agree."
    )


@github.prompt(get_pull, list_pull_files, list_reviews)
def review_pull(owner: Owner, repo: Repo, pull_number: Annotated[Number, "The pull request's number"]) -> str:
    """Review a pull request."""
    return (
        f"Review pull request {pull_number} of {owner}/{repo} on GitHub. In one batch, read it (github.get_pull), its "
        "files with their diffs (github.list_pull_files) and the reviews so far (github.list_reviews). Say what it "
        "does, what could break, what is missing, each with file and line. Propose a verdict; post nothing before I "
        "agree."
    )


github.completes("owner", list_repos, "owner")
github.completes("repo", list_repos, "repo")
