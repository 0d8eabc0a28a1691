"""The tools of Jira, in the order in which they are listed."""

from mcpist_services.jira.module import jira

from mcpist_services.jira.tools import projects, issues, workflow, comments, boards, prompts  # isort: skip

__all__ = ["boards", "comments", "issues", "jira", "projects", "prompts", "workflow"]
