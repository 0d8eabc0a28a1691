"""The tools of Jira, in the order in which they are listed."""

from mcpist_services.jira.module import jira

from mcpist_services.jira.tools import projects, issues, workflow, fields, bulk, links, attachments, comments  # isort: skip
from mcpist_services.jira.tools import boards, sprints, versions, prompts  # isort: skip

__all__ = [
    "attachments",
    "boards",
    "bulk",
    "comments",
    "fields",
    "issues",
    "jira",
    "links",
    "projects",
    "prompts",
    "sprints",
    "versions",
    "workflow",
]
