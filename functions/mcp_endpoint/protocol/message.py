"""A request's JSON-RPC message before the SDK reads it: whether its work may have to wait."""

import json

# Methods whose work may wait for another server, for a batch or for a store; lists are answered at once.
WAITING_METHODS = ("tools/call", "resources/read", "prompts/get", "completion/complete")


def may_wait(body: bytes) -> bool:
    """Return whether a body names a method that may wait; the SDK refuses what is no single request."""
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return False
    return isinstance(message, dict) and message.get("method") in WAITING_METHODS
