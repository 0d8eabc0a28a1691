"""The event types of an imported API: its webhooks, signed as its overlay says."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist.events.event_type import EventType, HookRequest, Occurrence, Signature, Webhook, event_type
from mcpist.moments import EPOCH_SECONDS, epoch_seconds
from mcpist.render.shows import value_at
from mcpist_services.described.hook_rule import HEADER, HookRule, WebhookRule

_HEADER_IN_TEXT = re.compile(r"\{([a-z0-9-]+)\}")


def api_event_types(module: str, rules: Mapping[str, Any]) -> list[EventType]:
    """Return the event types of a compiled overlay."""
    hooks = HookRule.model_validate(rules["hooks"])
    webhooks = {name: WebhookRule.model_validate(one) for name, one in rules["webhooks"].items()}
    source = Webhook(signature=partial(_signature, hooks), occurrences=partial(_occurrences, hooks, webhooks))
    return [
        event_type(
            module,
            name,
            rule.description,
            tool=hooks.tool,
            payload=" ".join(rule.payload),
            channel="hooks" if hooks.event else name,
            source=source,
        )
        for name, rule in webhooks.items()
    ]


def _signature(hooks: HookRule, request: HookRequest) -> Signature | None:
    """Return the first HMAC of the header that has the prefix; None where there is none, or no moment."""
    given = request.headers.get(hooks.signature, "").split()
    found = next((one.removeprefix(hooks.prefix) for one in given if one.startswith(hooks.prefix)), "")
    moment = request.headers.get(hooks.signed_at, "")
    if not found or (hooks.signed_at and not EPOCH_SECONDS.fullmatch(moment)):
        return None
    if hooks.encoding == "base64":
        try:
            found = base64.b64decode(found, validate=True).hex()
        except binascii.Error:
            return None
    before, _, after = hooks.signed.partition("{body}")
    message = _filled(before, request) + request.body + _filled(after, request)
    return Signature(message=message, given=found, signed_at=int(moment) if moment else None)


def _filled(text: str, request: HookRequest) -> bytes:
    return _HEADER_IN_TEXT.sub(lambda found: request.headers.get(found[1], ""), text).encode()


def _occurrences(
    hooks: HookRule, webhooks: Mapping[str, WebhookRule], request: HookRequest, name: str
) -> Iterator[Occurrence]:
    try:
        payload = json.loads(request.body)
    except ValueError:
        raise InvalidRequest(field="body", problem="it is no JSON") from None
    if hooks.event and _at(hooks.event, request, payload) != webhooks[name].event:
        return
    delivery = _at(hooks.delivery, request, payload) if hooks.delivery else hashlib.sha256(request.body).hexdigest()
    occurred_at = epoch_seconds(value_at(payload, hooks.occurred_at)) if hooks.occurred_at else None
    if delivery is None or (hooks.occurred_at and occurred_at is None):
        place = hooks.delivery if delivery is None else hooks.occurred_at
        raise InvalidRequest(field=place, problem="the delivery does not have it")
    yield Occurrence(delivery=str(delivery), occurred_at=occurred_at, data=payload)


def _at(place: str, request: HookRequest, payload: Any) -> Any:
    """Return the value at a place: of a header, or of a field of the body."""
    return request.headers.get(place.removeprefix(HEADER)) if place.startswith(HEADER) else value_at(payload, place)
