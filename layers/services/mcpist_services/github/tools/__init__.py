"""The tools of GitHub, in the order in which they are listed."""

from mcpist_services.github.module import github

from mcpist_services.github.tools import repositories, issues, pulls, actions, releases, notifications, prompts  # isort: skip

__all__ = ["actions", "github", "issues", "notifications", "prompts", "pulls", "releases", "repositories"]
