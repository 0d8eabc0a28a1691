"""The token of every form, which shows that our own page sent it.

It is a hash of the session's id, which no other site knows. Each page masks it anew, so that the compressed sizes of
pages tell nothing about it.
"""

import base64
import binascii
import hashlib
import secrets

TOKEN_BYTES = 16


def token(session_id: str) -> str:
    """Return a token for one page."""
    mask = secrets.token_bytes(TOKEN_BYTES)
    return base64.urlsafe_b64encode(mask + _xor(mask, _digest(session_id))).decode()


def is_valid(value: str, session_id: str) -> bool:
    """Whether a form's token is one of this session."""
    try:
        decoded = base64.urlsafe_b64decode(value)
    except (binascii.Error, ValueError):
        return False
    mask, masked = decoded[:TOKEN_BYTES], decoded[TOKEN_BYTES:]
    return len(masked) == TOKEN_BYTES and secrets.compare_digest(_xor(mask, masked), _digest(session_id))


def _digest(session_id: str) -> bytes:
    return hashlib.sha256(b"a form of the console\n" + session_id.encode()).digest()[:TOKEN_BYTES]


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))
