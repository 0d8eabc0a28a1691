"""The tools of GitHub, in the order in which they are listed."""

from mcpist_services.github.module import github

from mcpist_services.github.tools import repositories, users, files, issues, sub_issues, pulls, review_comments  # isort: skip
from mcpist_services.github.tools import actions, checks, releases, alerts, notifications, prompts  # isort: skip

__all__ = [
    "actions",
    "alerts",
    "checks",
    "files",
    "github",
    "issues",
    "notifications",
    "prompts",
    "pulls",
    "releases",
    "repositories",
    "review_comments",
    "sub_issues",
    "users",
]
