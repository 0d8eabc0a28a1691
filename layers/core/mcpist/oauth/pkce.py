"""PKCE (RFC 7636): the challenge of a secret that a client keeps until it redeems its code."""

import base64
import hashlib


def challenge_of(verifier: str) -> str:
    """Return the challenge by the method S256."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
