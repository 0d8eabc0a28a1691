"""One request of a browser, as API Gateway's event tells it."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs

from mcpist.errors import InvalidRequest, Locale, PayloadTooLarge
from mcpist.settings import settings

MAX_FORM_BYTES = 64_000
MAX_FORM_FIELDS = 300


@dataclass(frozen=True, slots=True)
class Request:
    """What a route needs to answer; `url` is our own, `form` has every value of each field."""

    route: str
    url: str
    path: Mapping[str, str]
    query: Mapping[str, str] = field(repr=False)
    form: Mapping[str, list[str]] = field(repr=False)
    cookies: Mapping[str, str] = field(repr=False)
    origin: str
    locale: Locale

    @classmethod
    def from_event(cls, event: Mapping[str, Any]) -> Self:
        """The request that an event is."""
        headers = {name.lower(): value.strip() for name, value in event.get("headers", {}).items()}
        pairs = (cookie.partition("=") for cookie in event.get("cookies", []))
        return cls(
            route=event["routeKey"],
            url=settings().public_url or f"https://{event['requestContext']['domainName']}",
            path=event.get("pathParameters") or {},
            query=event.get("queryStringParameters") or {},
            form=_form(event),
            cookies={name.strip(): value for name, _, value in pairs},
            origin=headers.get("origin", ""),
            locale="ja" if headers.get("accept-language", "").strip().lower().startswith("ja") else "en",
        )

    def form_value(self, name: str) -> str:
        """The form's only value of this name, empty where there is none."""
        values = self.form.get(name, [""])
        if len(values) != 1:
            raise InvalidRequest(field=name, problem="it stands there more than once")
        return values[0]


def _form(event: Mapping[str, Any]) -> dict[str, list[str]]:
    """The fields of a form, those that are empty too; API Gateway hands forms on as base64."""
    text = event.get("body") or ""
    if len(text) > MAX_FORM_BYTES:
        raise PayloadTooLarge(size_bytes=len(text), limit_bytes=MAX_FORM_BYTES)
    try:
        body = base64.b64decode(text).decode() if event.get("isBase64Encoded") else text
        return parse_qs(body, keep_blank_values=True, max_num_fields=MAX_FORM_FIELDS)
    except ValueError:
        raise InvalidRequest(field="form", problem="it cannot be read") from None
