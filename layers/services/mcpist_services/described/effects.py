"""Effects: whether an operation reads, writes or destroys, by its verb, its hints and its words.

When in doubt it destroys: a person is asked before such a tool runs.
"""

import re
from dataclasses import dataclass
from typing import Any

from mcpist_services.described.description import Operation
from mcpist_services.described.overlay import Effect
from mcpist_services.described.wording import listed, singular, words

_READS = listed("count fetch find get list lookup preview query read retrieve search validate")
_WRITES = listed(
    "accept add append apply approve archive assign attach bookmark book complete copy create comment duplicate "
    "edit enable favorite follow fork insert invite join label link lock mark move mute open pause pin post "
    "promote put quick register rename reopen reply request resend restore resume save schedule send set share "
    "snooze star start submit subscribe tag transition unarchive unblock unlock unmute unpin unstar update upload "
    "upsert vote watch"
)
_DESTROYS = listed(
    "abort anonymize ban block bulk cancel clear close decline delete destroy detach disable discard dismiss drop "
    "erase execute expire expunge flush force kick kill leave logout merge overwrite purge reject remove replace "
    "reset revoke rollback rotate run stop suspend terminate transfer trash truncate unassign undeploy uninstall "
    "unlink unpublish unsubscribe void wipe"
)
_NOUNS = listed("book comment label link lock post share star tag")  # in a GET these are what is read
_VERSION = re.compile(r"^v\d+[-_]")
_SECRETS = listed("credential password secret token passphrase")
_SECRET_PHRASES = ("api key", "access key", "private key", "signing key", "encryption key")


@dataclass(frozen=True, slots=True)
class ProposedEffect:
    """An effect, and why a person should look at it; empty where it is sure."""

    effect: Effect
    review: str = ""


def propose_effect(operation: Operation) -> ProposedEffect:
    """Return the effect of an operation."""
    hinted = _hinted(operation)
    stated = _by_method(operation)
    if hinted is None:
        return stated
    if hinted == "reads" and stated.effect != "reads":
        if operation.method == "DELETE":
            return stated
        return ProposedEffect("reads", f"{operation.method}, but the description marks it as reading")
    order: list[Effect] = ["reads", "writes", "destroys"]
    return stated if order.index(hinted) <= order.index(stated.effect) else ProposedEffect(hinted)


def reveals_secrets(operation: Operation) -> bool:
    """Whether the answer of a reading operation may show secrets."""
    said = [singular(word) for word in words(f"{operation.id} {operation.summary} {operation.path}")]
    phrase = " ".join(said)
    return not _SECRETS.isdisjoint(said) or any(one in phrase for one in _SECRET_PHRASES)


def _by_method(operation: Operation) -> ProposedEffect:
    method, verbs = operation.method, _verbs(operation)
    destroying = next((verb for verb in verbs if verb in _DESTROYS), "")
    if method == "DELETE" or (method == "POST" and destroying):
        return ProposedEffect("destroys")
    if method == "GET":
        changing = destroying or next((verb for verb in verbs if verb in _WRITES - _NOUNS), "")
        sounds = f"GET, but `{changing}` sounds as if it changed something"
        return ProposedEffect("destroys", sounds) if changing else ProposedEffect("reads")
    if method in {"PUT", "PATCH"}:
        final = f"{method}, but `{destroying}` may not be undone"
        return ProposedEffect("destroys", final) if destroying else ProposedEffect("writes")
    reading = next((verb for verb in verbs if verb in _READS), "")
    if reading:
        return ProposedEffect("reads", f"POST, but `{reading}` sounds as if it only read")
    if not _WRITES.isdisjoint(verbs):
        return ProposedEffect("writes")
    return ProposedEffect("destroys", "whether it only reads, writes or destroys is not clear")


def _verbs(operation: Operation) -> list[str]:
    """Return what may be verbs of an operation: the first words of its summary, its id and the end of its path."""
    summary = [word for word in words(operation.summary) if not word.endswith("ly")]
    identifier = words(_VERSION.sub("", re.split(r"[./]", operation.id)[-1]))
    path = words(re.split(r"[./]", operation.path.rstrip("/"))[-1]) if not operation.path.endswith("}") else []
    if operation.method == "GET":
        path = []  # the end of a reading path is a noun
    return [_imperative(found[0]) for found in (summary, identifier, path) if found]


def _imperative(verb: str) -> str:
    """Return a verb without the ending of `Lists projects`."""
    known = _WRITES | _DESTROYS | _READS
    return next((one for one in (verb, verb.removesuffix("s"), verb.removesuffix("es")) if one in known), verb)


def _hinted(operation: Operation) -> Effect | None:
    """Return the effect that an extension names, as those of OpenAI and of MCP do."""
    hints: dict[str, Any] = {}
    for key, value in operation.extensions.items():
        flat = key.removeprefix("x-").replace("-", "").replace("_", "").lower()
        hints[flat] = value
        if isinstance(value, dict):
            nested = value.get("annotations", value)
            hints |= (
                {str(name).replace("_", "").lower(): one for name, one in nested.items()}
                if isinstance(nested, dict)
                else {}
            )
    if any(hints.get(key) is True for key in ("destructive", "destructivehint", "isdestructive")):
        return "destroys"
    if any(hints.get(key) is True for key in ("readonly", "readonlyhint", "isreadonly")):
        return "reads"
    return "writes" if hints.get("openaiisconsequential") is True else None
