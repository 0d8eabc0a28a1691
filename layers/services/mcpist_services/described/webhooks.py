"""Webhooks: those that a description declares, as event types with the fields that are worth keeping."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from mcpist_services.described.description import Description
from mcpist_services.described.hook_rule import WebhookRule
from mcpist_services.described.references import well_formed
from mcpist_services.described.secrets import is_secret_name
from mcpist_services.described.wording import first_sentence, words

MAX_WEBHOOKS = 200
MAX_PAYLOAD_FIELDS = 30
MAX_PAYLOAD_DEPTH = 3
MAX_WEBHOOK_DESCRIPTION_CHARACTERS = 120

_KINDS = {"integer": ":integer", "number": ":number", "boolean": ":boolean", "array": ":list", "string": ""}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")


def propose_webhooks(description: Description) -> dict[str, WebhookRule]:
    """Return the webhooks of a description by the names of their event types; without fields of a body it is none."""
    found: dict[str, WebhookRule] = {}
    with well_formed("#/webhooks"):
        stated = description.root.get("webhooks") or {}
        for event, item in list(stated.items())[:MAX_WEBHOOKS]:
            operation = description.object(description.object(item).get("post"))
            fields = tuple(islice(_fields(description, _schema(description, operation)), MAX_PAYLOAD_FIELDS))
            name = "_".join(words(event)).lower()
            if fields and _NAME.fullmatch(name):
                text = operation.get("summary") or operation.get("description") or f"{event}."
                about = first_sentence(str(text), MAX_WEBHOOK_DESCRIPTION_CHARACTERS)
                found.setdefault(name, WebhookRule(event=event, description=about, payload=fields))
    return found


def _schema(description: Description, operation: dict[str, Any]) -> Any:
    content = description.object(operation.get("requestBody")).get("content") or {}
    return next((media.get("schema") for kind, media in content.items() if "json" in kind), None)


def _fields(description: Description, schema: Any, before: str = "", depth: int = 1) -> Iterator[str]:
    """Yield the fields of an object and of those within it, but no secrets."""
    for name, spec in description.properties(schema).items():
        if not name.isidentifier() or is_secret_name(name):
            continue
        kind = description.object(spec).get("type")
        kind = next((one for one in kind if one != "null"), None) if isinstance(kind, list) else kind
        if kind in _KINDS:
            yield f"{before}{name}{_KINDS[kind]}"
        elif depth < MAX_PAYLOAD_DEPTH:
            yield from _fields(description, spec, f"{before}{name}.", depth + 1)
