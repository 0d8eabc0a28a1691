"""Google's refusals: a 403 means a limit or a missing scope by its reason.

https://developers.google.com/workspace/calendar/api/guides/errors
"""

from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals

_LIMITS = {"dailyLimitExceeded", "quotaExceeded", "rateLimitExceeded", "userRateLimitExceeded"}
_SCOPES = {"ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientPermissions"}


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    reasons = _reasons(response)
    if response.status == 403 and reasons & _LIMITS:
        return RateLimited()
    return MissingScope() if response.status in {401, 403, 404} and reasons & _SCOPES else None


def _reasons(response: ServiceResponse) -> set[str]:
    """Return Google's names for what went wrong: `error.errors[].reason` and `error.details[].reason`."""
    error = response.json.get("error") if isinstance(response.json, dict) else None
    if not isinstance(error, dict):
        return set()
    lists = [error[name] for name in ("errors", "details") if isinstance(error.get(name), list)]
    return {str(item.get("reason")) for items in lists for item in items if isinstance(item, dict)}


REFUSALS = Refusals(_read_refusal, code_fields=("reason",))
