"""Confirmation: before something is destroyed, its user agrees to it once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import ConfirmationDeclined, ConfirmationPending, ConfirmationRequired, StaleConfirmation
from mcpist.people import questions
from mcpist.render.answer import compact_json
from mcpist.visible_text import visible

MAX_TARGETS_CHARACTERS = 300
"""Of an error's message, which a model reads."""


@dataclass(frozen=True, slots=True)
class DestructiveUse:
    """A use of a tool that destroys something: a call, or a step of a batch."""

    module: str
    tool: str
    targets: dict[str, Any]
    """Its params; those of a step with the references that are not resolved yet."""
    line: int = 0
    """The step's line; 0 for a call."""
    id: str = ""
    each: str = ""
    account: str = ""
    """The name of the account that acts, if it is known."""

    def as_dict(self) -> dict[str, Any]:
        """Return the use for a plan or an error."""
        step = {"line": self.line, "id": self.id} if self.id else {}
        fields = {**step, "tool": f"{self.module}.{self.tool}", "targets": self.targets}
        return fields | {name: value for name, value in (("each", self.each), ("account", self.account)) if value}

    def as_text(self, max_targets: int | None = None) -> str:
        """Return one line: `line 2, drop: tracker.delete_label {"name":"old"} (account: octocat)`.

        A person reads the whole targets; `max_targets` cuts them to so many characters, for a message.
        """
        targets = compact_json(self.targets)
        if max_targets is not None and len(targets) > max_targets:
            targets = f"{targets[:max_targets]}…"
        step = f"line {self.line}, {self.id}: " if self.id else ""
        each = f" for each of {self.each}" if self.each else ""
        account = f" (account: {self.account})" if self.account else ""
        return visible(f"{step}{self.module}.{self.tool} {targets}{each}{account}")


@dataclass(frozen=True, slots=True)
class Consent:
    """The agreement of the person of a request, as far as the request states it."""

    claimed: bool = False
    """Whether the program that sent it says that the person agrees; it counts only where the person cannot be asked."""
    can_ask: bool = False
    """Whether the person can be asked."""
    question: str = ""
    """The id of the question that the request answers; empty if it answers none."""
    agreed: bool | None = None
    """The person's answer to the question; None if there is none."""


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The permission to go on."""

    question: str = ""
    """The id of the question that was agreed to, which the batch gets; empty if nobody was asked."""
    used: bool = False
    """Whether an earlier request has used the same answer."""


def require_confirmation(
    caller: Caller,
    consent: Consent,
    subject: Sequence[Any],
    describe: Callable[[], Sequence[DestructiveUse]],
    context: dict[str, Any] | None = None,
) -> Confirmation:
    """Return the permission to perform a destructive request.

    ConfirmationPending if its person must be asked first, with the id of the stored question; ConfirmationRequired if
    the person cannot be asked. `subject` identifies the request, `describe` lists what it destroys, `context` is
    stored with the question.
    """
    if consent.claimed and not consent.can_ask:
        return Confirmation()
    if not consent.can_ask:
        raise _refusal(ConfirmationRequired, describe())
    digest = questions.digest_of(caller, *subject)
    if not consent.question or consent.agreed is None:
        uses = describe()
        pending = _refusal(ConfirmationPending, uses, confirmation=questions.save(caller, digest, context))
        pending.uses = tuple(use.as_text() for use in uses)
        raise pending
    question = questions.load(caller, consent.question, digest)
    if question.kind != "confirm":
        raise StaleConfirmation(field="requestState")
    if question.accepted_at is not None:
        return Confirmation(consent.question, used=True)
    if not consent.agreed:
        raise _refusal(ConfirmationDeclined, describe())
    return Confirmation(consent.question, used=not questions.accept(caller, consent.question))


def _refusal[Refusal: ConfirmationRequired](
    kind: type[Refusal], destructive: Sequence[DestructiveUse], **details: str
) -> Refusal:
    steps = "; ".join(use.as_text(MAX_TARGETS_CHARACTERS) for use in destructive)
    return kind(steps=steps, destructive=[use.as_dict() for use in destructive], **details)
