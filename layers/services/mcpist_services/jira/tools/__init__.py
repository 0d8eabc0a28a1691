"""The tools of Jira, in the order in which they are listed."""

from mcpist_services.jira.module import jira

from mcpist_services.jira.tools import projects, issues, workflow, bulk, links  # isort: skip
from mcpist_services.jira.tools import comments, boards, versions, prompts  # isort: skip

__all__ = ["boards", "bulk", "comments", "issues", "jira", "links", "projects", "prompts", "versions", "workflow"]
