"""Jira's consent: Atlassian's dialect, and the scopes that the tools need."""

from mcpist.oauth.provider import Consent
from mcpist_services.atlassian.oauth import ATLASSIAN

CONSENT = Consent(
    ATLASSIAN,
    scopes=(
        "read:jira-work",
        "write:jira-work",
        "read:jira-user",
        "read:project:jira",
        "read:servicedesk-request",  # queues
        "manage:jira-project",  # versions
        "read:board-scope:jira-software",
        "write:board-scope:jira-software",
        "read:issue-details:jira",  # the backlog
        "read:sprint:jira-software",
        "write:sprint:jira-software",
        "delete:sprint:jira-software",
    ),
)
