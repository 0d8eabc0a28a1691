"""Hook rules: the webhooks of an imported API as an overlay has them, and how they are verified."""

from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from mcpist_services.definitions import DefinitionPart, ToolName

HEADER = "header:"
PAYLOAD_FIELD = r"^[\w.]+(:(integer|number|boolean|list|object))?(=\S+)?$"
type HeaderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,100}$")]


class WebhookRule(DefinitionPart):
    """One webhook as an event type."""

    event: str = Field(min_length=1, max_length=200)
    """The vendor's name of the event."""
    description: str = Field(max_length=1000)
    payload: tuple[Annotated[str, StringConstraints(pattern=PAYLOAD_FIELD)], ...] = Field(min_length=1)
    """The fields that are kept: `id`, `order.total:number`, `labels:list=labels[*].name`."""


class HookRule(DefinitionPart):
    """The way in which the vendor signs its webhooks and names their events; no description says it, a person does.

    A place is the path of a field in the body, or `header:NAME`.
    """

    tool: ToolName
    """The reading tool whose permission a subscriber needs."""
    signature: HeaderName
    """The header with the HMAC-SHA256."""
    prefix: str = Field("", max_length=50, pattern=r"^[!-~]*$")
    """Text before the HMAC: `sha256=`."""
    encoding: Literal["hex", "base64"] = "hex"
    signed: str = Field("{body}", max_length=200, pattern=r"^[!-~]*\{body\}[!-~]*$")
    """The text that is signed, with `{NAME}` for a header: `{webhook-id}.{webhook-timestamp}.{body}`."""
    signed_at: HeaderName | Literal[""] = ""
    """The header with the moment of the signature, in epoch seconds."""
    event: str = Field("", max_length=200)
    """The place of the event's name; without it each type has an address of its own."""
    delivery: str = Field("", max_length=200)
    """The place of the delivery's id; without it a delivery is known by its body."""
    occurred_at: str = Field("", max_length=200)
    """The path of the moment at which it happened."""

    @model_validator(mode="after")
    def _check_places(self) -> Self:
        if not (self.signed_at or self.occurred_at):
            raise ValueError("without signed_at or occurred_at an old delivery could be repeated")
        _, header, delivery = self.delivery.rpartition(HEADER)
        for name in filter(None, (self.signed_at, header and delivery)):
            if f"{{{name}}}" not in self.signed:
                raise ValueError(f"the header {name} is not signed: anybody could change it")
        return self
