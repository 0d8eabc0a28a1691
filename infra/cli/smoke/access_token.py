"""The access token, decoded without its signature; no finding contains the token."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import jwt

from infra.cli.doctor.finding import Finding, ok, problem
from infra.cli.doctor.web import document
from infra.cli.smoke.public import issuers, login_metadata, resource_addresses

SHOWN = ("iss", "aud", "scope", "client_id", "token_use")
LOGIN_HINT = "Get a token for this URL: log in with a client of docs/clients.md, and give its access token by --token."


def claims(url: str, token: str) -> Iterator[Finding]:
    """Check for whom, by whom and until when the token was issued."""
    try:
        found = jwt.decode(token, options={"verify_signature": False})
    except jwt.PyJWTError:
        yield problem("the token is no JWT", LOGIN_HINT)
        return
    shown = ", ".join(f"{name} {found[name]}" for name in SHOWN if name in found)
    ends = float(found.get("exp", 0))
    until = f"{datetime.fromtimestamp(ends, UTC):%Y-%m-%d %H:%M} UTC"
    metadata = document(resource_addresses(url)[0]) or {}
    audiences = {found["aud"]} if isinstance(found.get("aud"), str) else set(found.get("aud", ()))
    if ends < time.time():
        yield problem(f"{shown}: it ended at {until}", LOGIN_HINT)
    elif str(found.get("iss", "")).rstrip("/") not in _issuer_names(metadata):
        yield problem(f"{shown}: of another issuer than {', '.join(issuers(metadata))}", LOGIN_HINT)
    elif audiences and metadata.get("resource") not in audiences:
        yield problem(f"{shown}: not issued for {metadata.get('resource')}", LOGIN_HINT)
    else:
        yield ok(f"{shown}, until {until}")


def _issuer_names(metadata: dict[str, object]) -> set[str]:
    """Return the issuers' names; the one whose keys are elsewhere, as a user pool's, is named by those."""
    names = set()
    for issuer in issuers(metadata):
        described = login_metadata(issuer) or {}
        names |= {issuer.rstrip("/"), str(described.get("jwks_uri", "")).removesuffix("/.well-known/jwks.json")}
    return names
