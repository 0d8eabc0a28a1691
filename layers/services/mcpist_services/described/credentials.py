"""Credentials: which of a description's security schemes the module uses, and the scopes of each tool."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from mcpist_services.described.description import Description, Operation
from mcpist_services.described.overlay import OAuthRule, Security

NO_CREDENTIAL = "the description names no credential: correct `security` if the API needs one"

_FLOWS = ("authorizationCode", "accessCode")


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


def _rank(security: Security) -> int:
    order = ("query", "basic", "header", "bearer")
    return order.index(security.kind) + (2 if security.oauth else 0)


def _security(scheme: Mapping[str, Any]) -> Security | None:
    """Return how a scheme is used; None for one that is not supported."""
    match scheme.get("type"):
        case "http" if str(scheme.get("scheme")).lower() in {"bearer", "basic"}:
            return Security(kind="basic" if str(scheme["scheme"]).lower() == "basic" else "bearer")
        case "apiKey" if scheme.get("in") in {"header", "query"}:
            name = str(scheme.get("name"))
            try:
                return Security(kind=scheme["in"], parameter=name)
            except ValidationError:
                return None
        case "openIdConnect":
            return Security(kind="bearer")
        case "oauth2":
            return Security(kind="bearer", oauth=_oauth(scheme))
    return None


def _oauth(scheme: Mapping[str, Any]) -> OAuthRule | None:
    flows = scheme.get("flows")
    flow = (
        next((flows[name] for name in _FLOWS if isinstance(flows.get(name), dict)), None)
        if isinstance(flows, dict)
        else None
    )
    if flow is None:
        return None
    try:
        return OAuthRule(authorize_url=str(flow.get("authorizationUrl")), token_url=str(flow.get("tokenUrl")))
    except ValidationError:
        return None


def _doubts(scheme: Mapping[str, Any], security: Security) -> list[str]:
    if scheme.get("type") == "oauth2" and security.oauth is None:
        return ["it has no OAuth flow that people can consent to: a token must be pasted"]
    if security.kind == "header" and security.parameter.lower() == "authorization":
        return ["the key is the whole header `authorization`: set `prefix` if a word belongs before it"]
    return []
