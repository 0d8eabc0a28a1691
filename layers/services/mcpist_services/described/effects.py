"""The effect, the credential and the scopes of an operation.

When in doubt it destroys: a person is asked before such a tool runs.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from mcpist.tools.declare.tool import EFFECTS
from mcpist_services.definitions import Effect
from mcpist_services.described.account_rule import OAuthRule, Security
from mcpist_services.described.description import Description, Operation
from mcpist_services.described.wording import base_verb, listed, singular, word_lists, words

NO_CREDENTIAL = "the description names no credential: correct `security` if the API needs one"

_WORDS = word_lists("effects")
_READS, _WRITES, _DESTROYS = (listed(_WORDS[effect]) for effect in ("reads", "writes", "destroys"))
_NOUNS, _NO_NOUNS = listed(_WORDS["nouns"]), listed(_WORDS["no_nouns"])
_VERSION = re.compile(r"^v\d+[-_]")
_SECRETS = listed(_WORDS["secrets"])
_SECRET_PHRASES = ("api key", "access key", "private key", "signing key", "encryption key")
_FLOWS = ("authorizationCode", "accessCode")


@dataclass(frozen=True, slots=True)
class ProposedEffect:
    """An effect, and why a person should look at it; empty where it is sure."""

    effect: Effect
    review: str = ""


def propose_effect(operation: Operation) -> ProposedEffect:
    """Return the effect of an operation."""
    if operation.document.startswith("query"):
        return _of_reading(operation, "a query")
    hinted = _hinted(operation)
    stated = _by_method(operation)
    if hinted is None:
        return stated
    if hinted == "reads" and stated.effect != "reads":
        if operation.method == "DELETE":
            return stated
        return ProposedEffect("reads", f"{operation.method}, but the description marks it as reading")
    return stated if EFFECTS.index(hinted) <= EFFECTS.index(stated.effect) else ProposedEffect(hinted)


def reveals_secrets(operation: Operation) -> bool:
    """Whether the answer of a reading operation may show secrets."""
    said = [singular(word) for word in words(f"{operation.id} {operation.summary} {operation.path}")]
    phrase = " ".join(said)
    return not _SECRETS.isdisjoint(said) or any(one in phrase for one in _SECRET_PHRASES)


def propose_security(description: Description, operations: list[Operation]) -> tuple[str, Security, tuple[str, ...]]:
    """Return the scheme that most operations accept, how it is used, and what a person should look at."""
    usable = {name: found for name, scheme in description.schemes.items() if (found := _security(scheme))}
    accepted = Counter(
        name
        for operation in operations
        for alternative in operation.security
        for name in alternative
        if len(alternative) == 1
    )
    if not description.schemes:
        return "", Security(), (NO_CREDENTIAL,)
    if not usable:
        kinds = sorted(str(scheme.get("type")) for scheme in description.schemes.values())
        return "", Security(), (f"its security ({', '.join(kinds)}) is not supported: correct `security`",)
    if not any(operation.security for operation in operations):
        name = max(usable, key=lambda one: _rank(usable[one]))
        return name, usable[name], (f"no operation names a credential; {name} is taken for all",)
    name = max(usable, key=lambda one: (accepted[one], _rank(usable[one])))
    review = [*_doubts(description.schemes[name], usable[name])]
    others = sorted(other for other in usable if other != name)
    if others:
        review.append(f"of its credentials {name} is used, and not {', '.join(others)}")
    return name, usable[name], tuple(review)


def scopes_of(operation: Operation, scheme: str) -> tuple[str, ...]:
    """Return the scopes that an operation needs of a scheme."""
    stated = (one[scheme] for one in operation.security if scheme in one)
    found = next(stated, ())
    return tuple(map(str, found)) if isinstance(found, list) else ()


def refused_security(operation: Operation, scheme: str) -> str:
    """Return why an operation cannot be called with a scheme; empty where it can."""
    if not scheme or not operation.security or any(set(one) <= {scheme} for one in operation.security):
        return ""
    wanted = " or ".join(" and ".join(one) for one in operation.security)
    return f"it needs the credential {wanted}, and the module's is {scheme}"


def _by_method(operation: Operation) -> ProposedEffect:
    method, verbs = operation.method, _verbs(operation)
    destroying = next((verb for verb in verbs if verb in _DESTROYS), "")
    if method == "DELETE" or (method == "POST" and destroying):
        return ProposedEffect("destroys")
    if method == "GET":
        return _of_reading(operation, "GET")
    if method in {"PUT", "PATCH"}:
        final = f"{method}, but `{destroying}` may not be undone"
        return ProposedEffect("destroys", final) if destroying else ProposedEffect("writes")
    reading = next((verb for verb in verbs if verb in _READS), "")
    if reading and not operation.document:  # a mutation is named by what it returns, too: `findOrCreate`
        return ProposedEffect("reads", f"POST, but `{reading}` sounds as if it only read")
    if not _WRITES.isdisjoint(verbs):
        return ProposedEffect("writes")
    return ProposedEffect("destroys", "whether it only reads, writes or destroys is not clear")


def _of_reading(operation: Operation, kind: str) -> ProposedEffect:
    """Return the effect of an operation that should only read, and destroys where its name says so."""
    changing = next((verb for verb in _verbs(operation) if verb in _DESTROYS | (_WRITES - _NOUNS)), "")
    sounds = f"{kind}, but `{changing}` sounds as if it changed something"
    return ProposedEffect("destroys", sounds) if changing else ProposedEffect("reads")


def _verbs(operation: Operation) -> list[str]:
    """Return the words that may be an operation's verb: the first of its summary, its id and the end of its path."""
    summary = [word for word in words(operation.summary) if not word.endswith("ly")]
    name = operation.path.partition("#")[2] if operation.document else operation.id  # of a field, with the verb first
    identifier = words(_VERSION.sub("", re.split(r"[./]", name)[-1]))
    path = words(re.split(r"[./]", operation.path.rstrip("/"))[-1]) if not operation.path.endswith("}") else []
    if operation.method == "GET" and not ends_in_action(operation):
        path = []  # the end of a reading path is a noun
    first, known = [found[0] for found in (summary, identifier, path) if found], _WRITES | _DESTROYS | _READS
    return [base_verb(verb, known) for verb in first]  # `Lists projects` is said as often as `List projects`


def ends_in_action(operation: Operation) -> bool:
    """Whether a path ends in what is done there, `/purge_cache`, and no summary says that it is read."""
    path = words(re.split(r"[./]", operation.path.partition("#")[0].rstrip("/"))[-1])
    said = words(operation.summary)
    return path[:1] != [] and path[0] in _NO_NOUNS and not (said and base_verb(said[0], _READS) in _READS)


def _hinted(operation: Operation) -> Effect | None:
    """Return the effect that an extension names, as those of OpenAI and of MCP do."""
    hints: dict[str, Any] = {}
    for key, value in operation.extensions.items():
        flat = key.removeprefix("x-").replace("-", "").replace("_", "").lower()
        hints[flat] = value
        if isinstance(value, dict) and isinstance(nested := value.get("annotations", value), dict):
            hints |= {str(name).replace("_", "").lower(): one for name, one in nested.items()}
    if any(hints.get(key) is True for key in ("destructive", "destructivehint", "isdestructive")):
        return "destroys"
    if any(hints.get(key) is True for key in ("readonly", "readonlyhint", "isreadonly")):
        return "reads"
    return "asks" if hints.get("openaiisconsequential") is True else None


def _rank(security: Security) -> int:
    order = ("query", "basic", "header", "bearer")
    return order.index(security.kind) + (2 if security.oauth else 0)


def _security(scheme: Mapping[str, Any]) -> Security | None:
    """Return how a scheme is used; None for one that is not supported."""
    match scheme.get("type"):
        case "http" if str(scheme.get("scheme")).lower() in {"bearer", "basic"}:
            return Security(kind="basic" if str(scheme["scheme"]).lower() == "basic" else "bearer")
        case "apiKey" if scheme.get("in") in {"header", "query"}:
            try:
                return Security(kind=scheme["in"], parameter=str(scheme.get("name")))
            except ValidationError:
                return None
        case "openIdConnect":
            return Security(kind="bearer")
        case "oauth2":
            return Security(kind="bearer", oauth=_oauth(scheme))
    return None


def _oauth(scheme: Mapping[str, Any]) -> OAuthRule | None:
    flows = scheme.get("flows")
    known = [flows[name] for name in _FLOWS if isinstance(flows.get(name), dict)] if isinstance(flows, dict) else []
    if not known:
        return None
    try:
        return OAuthRule(authorize_url=str(known[0].get("authorizationUrl")), token_url=str(known[0].get("tokenUrl")))
    except ValidationError:
        return None


def _doubts(scheme: Mapping[str, Any], security: Security) -> list[str]:
    if scheme.get("type") == "oauth2" and security.oauth is None:
        return ["it has no OAuth flow that people can consent to: a token must be pasted"]
    if security.kind == "header" and security.parameter.lower() == "authorization":
        return ["the key is the whole header `authorization`: set `prefix` if a word belongs before it"]
    return []
