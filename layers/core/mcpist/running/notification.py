"""Notification: people are told that something waits for them, or failed, at an address of the organization's choice.

It has no arguments: only who waits for what, and where to decide or to look. A request to a URL is signed as Standard
Webhooks are; a message to a place at a service is sent by the tool that the service declares for it.
Source: https://www.standardwebhooks.com
"""

import base64
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcpist.audit import record as audit
from mcpist.aws.attributes import encode
from mcpist.aws.table import directory_table
from mcpist.bounded_http import webhook
from mcpist.errors import InvalidRequest, Locale, McpistError, NotConfigured, ToolExecutionError, UpstreamUnavailable
from mcpist.people.administration import Administration, ConnectedAccount
from mcpist.running import broker
from mcpist.running.accounts import Account
from mcpist.running.notification_address import MessagePlace, NotificationAddress, find_address, partition_key
from mcpist.toml_table import toml_beside
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.search.catalogue import ModuleSource

if TYPE_CHECKING:
    from mcpist.audit.rows import AuditColumns

SECRET_BYTES = 32
SEND_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Notice:
    """A message to the people of an organization."""

    kind: str
    """What happened, such as `approval.waiting`; the text of a message is under this name."""
    id: str
    """The id under which a receiver recognizes it when it is sent again."""
    target: str
    """What it is about, as the audit names it."""
    facts: Mapping[str, Any]
    """The fields of a signed request; `url` is where a person looks."""
    names: Mapping[str, str]
    """What a message quotes in its text."""


def approval_waiting(summary: Mapping[str, Any]) -> Notice:
    """Return the notice that an approval waits for a person."""
    fields = ("approval_id", "mode", "tools", "requested_by", "requested_at", "until", "client", "url")
    id_, names = summary["approval_id"], {"user": summary["requested_by"], "tools": ", ".join(summary["tools"])}
    return Notice("approval.waiting", id_, f"approvals.{id_}", {name: summary[name] for name in fields}, names)


def set_address(administration: Administration, catalogue: ModuleSource, url: str) -> NotificationAddress:
    """Store another address, or none, with an audit row, and return it with its new secret."""
    caller, action = administration.caller, "approvals.notify"
    with administration.permitted(action, "organization"):
        made = NotificationAddress(
            url.strip(), webhook.SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()
        )
        if place := made.place:
            _check_place(administration, catalogue, place)
        elif made.url:
            webhook.check_url(made.url)
        administration.record(action, "organization", after={"host": made.host})
        directory_table().put({"pk": partition_key(caller.organization), "sk": "approvals"} | encode(made))
    return made


def send(permissions: Permissions, notice: Notice) -> None:
    """Tell people something; each attempt has an audit row, and the pages show it anyway."""
    from mcpist.bounded_http.failures import ExchangeFailed

    caller = permissions.caller
    row: AuditColumns = {"outcome": "succeeded"}
    try:
        address = find_address(caller.organization)
        if address is None:
            return
        if place := address.place:
            _send_message(permissions, place, notice, row)
        else:
            row["outcome"] = _post(address, caller.organization, notice)
    except ExchangeFailed:
        row["outcome"] = UpstreamUnavailable.code
    except McpistError as error:
        row["outcome"] = error.code
    with audit.best_effort():
        about: AuditColumns = {"target": notice.target, **row}
        audit.record_event(caller, "approval", "approvals.notify", **about)


def _post(address: NotificationAddress, organization: str, notice: Notice) -> str:
    """Send a signed request, and return how it ended."""
    content, headers = message_for(address, organization, notice, int(time.time()))
    status = webhook.post(address.url, content, headers, seconds=SEND_SECONDS).status
    return "succeeded" if status < 300 else ToolExecutionError.code


def _send_message(permissions: Permissions, place: MessagePlace, notice: Notice, row: "AuditColumns") -> None:
    """Send a message by the tool that the service declares for it, with the account of the address."""
    from mcpist.running.run import ToolRun

    caller, module = permissions.caller, permissions.catalogue.module(place.service)
    if module.message is None:
        raise NotConfigured(service=place.service, problem="it sends no messages")
    account = Account(caller.organization, module, broker.resolve_sender(caller))
    tool, deadline = module.tools[module.message.__name__], time.monotonic() + SEND_SECONDS
    run = ToolRun(caller, module, tool, row, deadline, find_account=lambda *_, **__: account)
    run.produce(module.message(place.name, text_of(notice, caller.locale)))


def text_of(notice: Notice, locale: Locale) -> str:
    """Return the Markdown of a message, in which no name is markup or mentions anybody."""
    quoted = {name: f"`{text.replace('`', '')}`" for name, text in notice.names.items()}
    text = toml_beside(__file__, "notification.toml")[notice.kind][locale]
    return f"{text.format(**quoted)}\n\n{notice.facts['url']}"


def message_for(
    address: NotificationAddress, organization: str, notice: Notice, now: int
) -> tuple[bytes, dict[str, str]]:
    """Return the body and the headers of a notification."""
    body = json.dumps({"type": notice.kind, "organization": organization, **notice.facts}).encode()
    mac = hmac.digest(webhook.secret_key(address.secret), webhook.signed_text(notice.id, now, body), "sha256")
    return body, webhook.signed_headers(notice.id, now, [mac])


def _check_place(administration: Administration, catalogue: ModuleSource, place: MessagePlace) -> None:
    """Refuse a place at a service that sends no messages, or by a role that shares no account of it."""
    if place.service not in catalogue.names or catalogue.module(place.service).message is None:
        raise InvalidRequest(field="url", problem=f"{place.service} is no service that sends messages")
    owner = f"role#{place.role}"
    if ConnectedAccount(place.service, owner) not in administration.accounts.find([owner]):
        raise InvalidRequest(field="url", problem=f"the role {place.role} shares no account of {place.service}")
