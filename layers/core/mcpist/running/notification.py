"""Notification: people are told that something waits for them, at an address that the organization has chosen.

The request has no arguments: only who waits for what, and where to decide. It is signed as Standard Webhooks are; an
incoming webhook of Slack, in a workspace of the organization's own, gets a message instead.
Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from mcpist.audit import record as audit
from mcpist.aws.attributes import decode, encode
from mcpist.aws.table import directory_table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, McpistError
from mcpist.loopback import is_loopback_url
from mcpist.people.administration import Administration
from mcpist.settings import settings

SECRET_PREFIX, SECRET_BYTES = "whsec_", 32
SEND_SECONDS = 3.0
MAX_ANSWER_BYTES, MAX_URL_CHARACTERS = 10_000, 2_000
SLACK_HOST = "hooks.slack.com"
EVENT = "approval.waiting"


@dataclass(frozen=True, slots=True)
class NotificationAddress:
    """Where an organization is told about approvals."""

    url: str
    secret: str = field(repr=False)
    """The key of the signatures, as its receiver has it."""

    @property
    def is_chat(self) -> bool:
        """Whether it is an incoming webhook of Slack."""
        return urlsplit(self.url).hostname == SLACK_HOST

    @property
    def host(self) -> str:
        """The host, which the audit names: the path of such an address may be a secret."""
        return urlsplit(self.url).hostname or ""


def find_address(organization: str) -> NotificationAddress | None:
    """Return the address of an organization; None if it has none."""
    items = directory_table().query(_partition_key(organization))
    return next((decode(NotificationAddress, item) for item in items if item["url"]), None)


def set_address(administration: Administration, url: str) -> NotificationAddress:
    """Store another address, or none, with an audit row, and return it with its new secret."""
    caller, action = administration.caller, "approvals.notify"
    with administration.permitted(action, "organization"):
        made = NotificationAddress(
            url.strip(), SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        )
        if made.url:
            _check(made.url)
        request, after = administration.request, {"host": made.host}
        audit.record_change(caller, action=action, target="organization", request=request, after=after)
        directory_table().put({"pk": _partition_key(caller.organization), "sk": "approvals"} | encode(made))
    return made


def send(caller: Caller, summary: Mapping[str, Any]) -> None:
    """Tell people that something waits; each attempt has an audit row, and the page shows the approval anyway."""
    from mcpist.bounded_http.client import HttpClient
    from mcpist.bounded_http.failures import ExchangeFailed

    outcome = "succeeded"
    try:
        address = find_address(caller.organization)
        if address is None:
            return
        client = HttpClient(max_bytes=MAX_ANSWER_BYTES, connect_seconds=SEND_SECONDS, keep_alive=False)
        content, headers = message_for(address, caller.organization, summary, int(time.time()))
        deadline = time.monotonic() + SEND_SECONDS
        status = client.exchange("POST", address.url, deadline=deadline, content=content, headers=headers).status
        if status >= 300:
            outcome = "TOOL_EXECUTION_ERROR"
    except ExchangeFailed:
        outcome = "UPSTREAM_UNAVAILABLE"
    except McpistError as error:
        outcome = error.code
    with audit.best_effort():
        audit.write_row(audit.approval_row(caller, "notify", summary["approval_id"], outcome=outcome))


def message_for(
    address: NotificationAddress, organization: str, summary: Mapping[str, Any], now: int
) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers of a notification."""
    headers = {"content-type": "application/json"}
    if address.is_chat:
        tools = ", ".join(summary["tools"])
        text = f"{summary['requested_by']} waits for an approval: {tools}\n{summary['url']}"
        # Slack reads these as markup, and as mentions of people.
        return json.dumps({"text": text.translate(_SLACK_ESCAPES)}).encode(), headers
    names = ("approval_id", "mode", "tools", "requested_by", "requested_at", "until", "client", "url")
    body = json.dumps({"type": EVENT, "organization": organization} | {name: summary[name] for name in names})
    signed = f"{summary['approval_id']}.{now}.{body}".encode()
    key = base64.b64decode(address.secret.removeprefix(SECRET_PREFIX))
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    own = {"webhook-id": summary["approval_id"], "webhook-timestamp": str(now), "webhook-signature": f"v1,{signature}"}
    return body.encode(), headers | own


_SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def _check(url: str) -> None:
    """Refuse an address to which nothing can be sent safely; where it leads is checked at each sending."""
    try:
        parts = urlsplit(url)
        is_plain = parts.scheme == "http" and settings().local_services and is_loopback_url(url)
        is_valid = bool(parts.hostname) and not parts.username and not parts.fragment
    except ValueError:
        is_plain = is_valid = False
    if not is_valid or not (is_plain or parts.scheme == "https") or len(url) > MAX_URL_CHARACTERS:
        raise InvalidRequest(field="url", problem="it is no https address")


def _partition_key(organization: str) -> str:
    return f"notification#{organization}"
