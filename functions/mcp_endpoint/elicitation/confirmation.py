"""Confirmation: the question of what is destroyed, as a form of the client, and the person's answer."""

from dataclasses import dataclass
from typing import Self

from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

from mcp_endpoint.exchange import Client
from mcpist.errors import ConfirmationPending, Locale
from mcpist.running.confirmation import Consent

CONFIRM_INPUT = "confirm"

FORM_TEXTS: dict[Locale, tuple[str, str]] = {
    "en": ("This destroys something:\n{steps}\nRun it?", "Run all of it"),
    "ja": ("破壊的な操作が含まれています:\n{steps}\n実行しますか?", "すべて実行する"),
}


@dataclass(frozen=True, slots=True)
class FormElicitation:
    """A question that the client asks its user by a form."""

    state: str
    message: str
    label: str
    """The text of the box to tick."""

    @classmethod
    def of(cls, error: ConfirmationPending, locale: Locale) -> Self:
        """Return the question that an error wants answered."""
        message, label = FORM_TEXTS[locale]
        steps = "\n".join(f"- {use}" for use in error.uses)
        return cls(error.details["confirmation"], message.format(steps=steps), label)

    def as_result(self) -> InputRequiredResult:
        """Return the question as the protocol's: a form with one box to tick."""
        properties = {CONFIRM_INPUT: {"type": "boolean", "title": self.label, "default": False}}
        schema = {"type": "object", "properties": properties, "required": [CONFIRM_INPUT]}
        request = ElicitRequest(params=ElicitRequestFormParams(message=self.message, requested_schema=schema))
        return InputRequiredResult(input_requests={CONFIRM_INPUT: request}, request_state=self.state)


def consent_of(client: Client, *, claimed: bool) -> Consent:
    """Return what a request says of its person's agreement; `claimed` is what the model says."""
    reply = client.input_responses.get(CONFIRM_INPUT)
    agreed = None if reply is None else reply.action == "accept" and (reply.content or {}).get(CONFIRM_INPUT) is True
    return Consent(claimed, client.supports_forms, client.request_state, agreed)
