"""Questions to a person, stored until they are answered.

The client sends the answer with the request that was asked about and with the id of the question. An item of the
ledger's table under `pk` ORGANIZATION#ID says what the question was about, so that no sandbox needs a key that others
share, and an answer is good for one request of one person only. The batch that a confirmation starts gets this id.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from mcpist.aws.attributes import Item, decode, encode
from mcpist.aws.table import holds, ledger_table
from mcpist.batch_id import is_batch_id, new_batch_id
from mcpist.caller import Caller
from mcpist.errors import StaleConfirmation
from mcpist.settings import settings

SORT_KEY = "question"
MAX_REPLY_SECONDS = 600
MAX_LISTED_QUESTIONS = 20

type Kind = Literal["confirm", "connect"]


@dataclass(frozen=True, slots=True)
class Question:
    """A question that was asked."""

    digest: str
    """Of the caller and the request that was asked about."""
    until: int
    """When the time for an answer ends, in seconds since the epoch."""
    context: dict[str, Any]
    """The JSON that the asker needs when the answer comes."""
    accepted_at: int | None = None
    """When a yes was used, in seconds since the epoch."""
    kind: Kind = "confirm"
    """Whether to agree to something, or to connect an account."""
    user: str = ""
    """The person who is asked."""
    shown: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For each step that a yes permits only for what was shown: the digests of that."""


def digest_of(caller: Caller, *subject: Any) -> str:
    """Return the digest of a request by this caller in these roles."""
    parts = [caller.organization, caller.user, caller.role_names, *subject]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def save(
    caller: Caller,
    digest: str,
    context: dict[str, Any] | None = None,
    *,
    state: str = "",
    kind: Kind = "confirm",
    shown: Mapping[str, tuple[str, ...]] | None = None,
) -> str:
    """Store a question, in place of that with the same state if one is named, and return its state."""
    state, now = state or new_batch_id(), int(time.time())
    shown = shown or {}
    question = Question(digest, now + MAX_REPLY_SECONDS, context or {}, kind=kind, user=caller.user, shown=shown)
    key = {"pk": _partition_key(caller, state), "sk": SORT_KEY}
    # A used answer may be sent again for as long as its batch is kept.
    ledger_table().put(key | encode(question) | {"expires_at": now + settings().keep_seconds})
    if context and kind == "confirm":
        listed = {"pk": _listing_key(caller), "sk": f"{question.until:011}#{state}"}
        ledger_table().put({**listed, "expires_at": question.until})
    return state


def state_of(digest: str) -> str:
    """Return the state of the one question about a request whose person cannot be asked."""
    return f"b_{digest[:16]}"


def show_again(caller: Caller, state: str, shown: Mapping[str, tuple[str, ...]]) -> None:
    """Let a yes permit what the person is shown now, in place of what was shown before."""
    _change_open(caller, state, {"shown": {name: list(digests) for name, digests in shown.items()}})


def find_waiting(caller: Caller) -> dict[str, Question]:
    """Return the questions about batches that wait for this person's answer, by their states, the newest first."""
    bounds = f"{int(time.time()):011}", "9" * 12
    listed, _ = ledger_table().query_page(
        "pk", _listing_key(caller), bounds, limit=MAX_LISTED_QUESTIONS, descending=True
    )
    states = [item["sk"].partition("#")[2] for item in listed]
    items = ledger_table().get_many([(_partition_key(caller, state), SORT_KEY) for state in states])
    found = {item["pk"].rpartition("#")[2]: decode(Question, item) for item in items}
    now = time.time()
    is_waiting = {state: one.accepted_at is None and one.until > now for state, one in found.items()}
    return {state: found[state] for state in states if is_waiting.get(state)}


def load(caller: Caller, state: str, digest: str) -> Question:
    """Return the question of a state; StaleConfirmation for another request's, or one not answered in time."""
    question = find_open(caller, state)
    if question is None or question.digest != digest:
        raise StaleConfirmation(field="requestState")
    return question


def find_open(caller: Caller, state: str) -> Question | None:
    """Return a question that waits for an answer in time, or has had one; None if there is none."""
    # A state may be any text of a client: no other item of the table must be read by it.
    item = ledger_table().get(_partition_key(caller, state), SORT_KEY) if is_batch_id(state) else None
    question = decode(Question, item) if item else None
    return question if question and (question.accepted_at is not None or question.until > time.time()) else None


def accept(caller: Caller, state: str) -> bool:
    """Use the answer to a question; return whether this request was the first to use it."""
    return _change_open(caller, state, {"accepted_at": int(time.time())})


def close(caller: Caller, state: str) -> None:
    """End the time for an answer: a question that was declined cannot be agreed to later."""
    ledger_table().set(_partition_key(caller, state), SORT_KEY, {"until": 0})


def _change_open(caller: Caller, state: str, change: Item) -> bool:
    """Change a question; False for one that a yes has answered."""
    condition = "attribute_exists(#digest) AND attribute_not_exists(#accepted_at)"
    return holds(ledger_table().set, _partition_key(caller, state), SORT_KEY, change, condition=condition)


def _partition_key(caller: Caller, state: str) -> str:
    return f"{caller.organization}#{state}"


def _listing_key(caller: Caller) -> str:
    return f"{caller.organization}#questions#{caller.user}"
