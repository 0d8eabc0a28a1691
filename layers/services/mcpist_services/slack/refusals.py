"""Slack's refusals: an HTTP 200 with `{"ok": false, "error": code}`; a limit is one of a single method.

https://docs.slack.dev/apis/web-api/rate-limits (the tiers) and the table of errors on each method's page
"""

from typing import Any

from mcpist.tools.declare.call import ServiceResponse
from mcpist.tools.declare.dialect import MissingScope, RateLimited, Refusal, Refusals, TokenRefused, Unavailable

_TOKEN_ERRORS = {
    "account_inactive",
    "invalid_auth",
    "not_allowed_token_type",
    "not_authed",
    "token_expired",
    "token_revoked",
}
_LIMITS = {"message_limit_exceeded", "rate_limited", "ratelimited"}
_OUTAGES = {"fatal_error", "internal_error", "request_timeout", "service_unavailable", "team_added_to_org"}
_HINTS = {
    "already_archived": "nothing was left to do",
    "already_in_channel": "nothing was left to do",
    "already_pinned": "nothing was left to do",
    "already_reacted": "nothing was left to do",
    "cant_delete_message": "only its author may delete it",
    "cant_invite_self": "you are there already, or join with join_channel",
    "cant_update_message": "only its author may change it",
    "channel_not_found": "no such channel, or a private one without this person; list_channels shows the others",
    "edit_window_closed": "the workspace lets nobody change a message that is so old",
    "invalid_arguments": "an argument is wrong",
    "invalid_name": "the reaction is no emoji of this workspace",
    "is_archived": "the channel is archived",
    "message_not_found": "the channel has no message with this ts",
    "msg_too_long": "the text is too long for one message",
    "name_taken": "a channel of this name exists, perhaps an archived one",
    "no_permission": "the workspace does not allow it",
    "no_reaction": "nothing was left to do",
    "not_in_channel": "this person is not in the channel: join it first (join_channel), or be invited",
    "not_pinned": "nothing was left to do",
    "restricted_action": "an administrator of the workspace has restricted it",
    "thread_not_found": "the channel has no thread with this ts",
    "time_in_past": "the time has passed",
    "time_too_far": "it is more than 120 days away",
    "user_not_found": "no such person; list_users shows them",
    "users_not_found": "nobody in the workspace has this e-mail address",
}


def _read_refusal(response: ServiceResponse) -> Refusal | None:
    body = response.json if isinstance(response.json, dict) else {}
    code = str(body.get("error", ""))
    if code in _LIMITS or response.status == 429:
        return RateLimited(path_only=True)
    if body.get("ok") is not False:
        return None
    if code in _TOKEN_ERRORS:
        return TokenRefused(problem=code)
    if code == "missing_scope":
        return MissingScope(scope=str(body.get("needed", "")), problem="the account did not grant it")
    if code in _OUTAGES:
        return Unavailable(problem=code)
    return Refusal(problem="; ".join([_explained(code), *_details(body)]))


def _explained(code: str) -> str:
    return f"{code}: {_HINTS[code]}" if code in _HINTS else code or "it gave no reason"


def _details(body: dict[str, Any]) -> list[str]:
    """Return Slack's messages about single arguments."""
    about = body.get("response_metadata")
    messages = about.get("messages", []) if isinstance(about, dict) else []
    return [str(message) for message in messages] if isinstance(messages, list) else []


REFUSALS = Refusals(_read_refusal)
