"""Confluence's consent: Atlassian's dialect, and the scopes that the tools need."""

from mcpist.oauth.provider import Consent
from mcpist_services.atlassian.oauth import ATLASSIAN

CONSENT = Consent(
    ATLASSIAN,
    scopes=(
        "read:page:confluence",
        "write:page:confluence",
        "delete:page:confluence",
        "read:space:confluence",
        "read:comment:confluence",
        "write:comment:confluence",
        "delete:comment:confluence",
        "read:label:confluence",
        "write:label:confluence",
        "search:confluence",
        "read:hierarchical-content:confluence",
        "read:attachment:confluence",
        "write:attachment:confluence",
        "delete:attachment:confluence",
        "read:task:confluence",
        "write:confluence-content",
        "read:content-details:confluence",  # people by name
        "read:user:confluence",
    ),
)
