"""Confirmation: before something is destroyed, its user agrees to it once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mcpist.caller import Caller, PolicyLevel
from mcpist.errors import (
    AgreementPending,
    AgreementRequired,
    ChangeConfirmationPending,
    ChangeConfirmationRequired,
    ConfirmationDeclined,
    ConfirmationPending,
    ConfirmationRequired,
    StaleConfirmation,
    UnseenTarget,
)
from mcpist.people import questions
from mcpist.running.destructive_use import DestructiveUse, digest_of, quote

MAX_TARGETS_CHARACTERS = 300
"""Of an error's message, which a model reads."""
_UNDECLARED: Mapping[type[ConfirmationRequired], type[Any]] = {
    ConfirmationRequired: ChangeConfirmationRequired,
    ConfirmationPending: ChangeConfirmationPending,
}
"""The same refusals where nobody has said of any tool what it does."""
_AGREEMENTS: Mapping[type[ConfirmationRequired], type[Any]] = {
    ConfirmationRequired: AgreementRequired,
    ConfirmationPending: AgreementPending,
}
"""The same refusals where nothing is destroyed, and only a policy wants a person to agree."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of the person of a request, as far as the request states it."""

    claimed: bool = False
    """Whether the program that sent it says that the person agrees; it counts only where the person cannot be asked."""
    can_ask: bool = False
    """Whether the person can be asked."""
    question: str = ""
    """The id of the question that the request answers; empty if it answers none."""
    agreed: bool | None = None
    """The person's answer to the question; None if there is none."""
    is_step: bool = False
    """Whether it is that of a batch, for each of its steps."""
    shown: tuple[str, ...] | None = None
    """The digests of what the person of a running step has seen of it; None if it was shown as it is written."""

    level: PolicyLevel = "permit"
    """What the person of a running step, or a second one, has agreed to before its batch began."""

    def require_seen(self, module: str, tool: str, params: Mapping[str, Any]) -> None:
        """Raise UnseenTarget for params that the person has not seen."""
        if self.shown is not None and digest_of(params) not in self.shown:
            raise UnseenTarget(tool=f"{module}.{tool}", target=quote(params)[:MAX_TARGETS_CHARACTERS])


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The permission to go on."""

    question: str = ""
    """The id of the question that was agreed to, which the batch gets; empty if nobody was asked."""
    used: bool = False
    """Whether an earlier request has used the same answer."""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each step that may destroy only what was shown: the digests of that."""
    levels: Mapping[str, PolicyLevel] = field(default_factory=dict)
    """For each step that somebody agreed to: whether a second person did."""


def require_confirmation(
    caller: Caller,
    consent: Agreement,
    subject: Sequence[Any],
    describe: Callable[[], Sequence[DestructiveUse]],
    context: dict[str, Any] | None = None,
    *,
    must_be_shown: bool = False,
) -> Confirmed:
    """Return the permission to perform a destructive request.

    ConfirmationPending if its person must be asked first, with the id of the stored question; ConfirmationRequired if
    the person cannot be asked. `subject` identifies the request, `describe` lists what it destroys, `context` is
    stored with the question. With `must_be_shown` the request does not say what it destroys, and only the question.
    """
    digest = questions.digest_of(caller, *subject)
    if not consent.can_ask:
        return _accept_claim(caller, consent, digest, describe, must_be_shown=must_be_shown)
    if not consent.question or consent.agreed is None:
        uses = describe()
        state = questions.save(caller, digest, context, shown=shown_by(uses))
        pending = _refusal(ConfirmationPending, uses, confirmation=state)
        pending.uses = tuple(use.as_text() for use in uses)
        raise pending
    question = questions.load(caller, consent.question, digest)
    if question.kind != "confirm":
        raise StaleConfirmation(field="requestState")
    if question.accepted_at is not None:
        return Confirmed(consent.question, used=True)
    if not consent.agreed:
        # A question that was declined cannot be agreed to later.
        questions.close(caller, consent.question)
        raise _refusal(ConfirmationDeclined, describe())
    return Confirmed(consent.question, used=not questions.accept(caller, consent.question), shown=question.shown)


def _accept_claim(
    caller: Caller,
    consent: Agreement,
    digest: str,
    describe: Callable[[], Sequence[DestructiveUse]],
    *,
    must_be_shown: bool,
) -> Confirmed:
    """Return the permission that a program claims for a person who cannot be asked, else refuse and remember.

    A program's word counts only there: a model could claim anything. The refusal is what the person is shown.
    """
    state = questions.state_of(digest)
    if consent.claimed and not must_be_shown:
        return Confirmed()
    if consent.claimed and (question := questions.find_open(caller, state)) and question.digest == digest:
        return Confirmed(shown=question.shown)
    uses = describe()
    if must_be_shown:
        questions.save(caller, digest, state=state, shown=shown_by(uses))
    raise _refusal(ConfirmationRequired, uses)


def shown_by(uses: Sequence[DestructiveUse]) -> dict[str, tuple[str, ...]]:
    """Return the digests of what is shown of each use that does not say itself what it destroys."""
    return {use.id: shown for use in uses if (shown := use.shown) is not None}


def _refusal[Refusal: ConfirmationRequired](
    kind: type[Refusal], destructive: Sequence[DestructiveUse], **details: str
) -> Refusal:
    steps = "; ".join(use.as_text(MAX_TARGETS_CHARACTERS) for use in destructive)
    if not any(use.destroys for use in destructive):
        kind = _AGREEMENTS.get(kind, kind)
    elif not any(use.is_declared for use in destructive):
        kind = _UNDECLARED.get(kind, kind)
    return kind(steps=steps, destructive=[use.as_dict() for use in destructive], **details)
