"""The tools of GitHub, in the order in which they are listed."""

from mcpist_services.github.module import github

from mcpist_services.github.tools import repositories, files, issues, pulls, actions  # isort: skip
from mcpist_services.github.tools import releases, alerts, notifications, prompts  # isort: skip

__all__ = [
    "actions",
    "alerts",
    "files",
    "github",
    "issues",
    "notifications",
    "prompts",
    "pulls",
    "releases",
    "repositories",
]
