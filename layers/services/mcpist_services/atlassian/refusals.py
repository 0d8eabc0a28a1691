"""Atlassian's refusals: a missing scope is named by a sentence alone.

https://developer.atlassian.com/cloud/oauth/getting-started/determining-scopes
"""

from mcpist.running.refusals import error_message
from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import MissingScope

_STATUSES = {401, 403, 404}


def read_refusal(response: ServiceResponse) -> MissingScope | None:
    """Return the refusal of a token that lacks a scope, which Atlassian does not name."""
    refused = response.status in _STATUSES and "scope does not match" in error_message(response.json)
    return MissingScope() if refused else None
