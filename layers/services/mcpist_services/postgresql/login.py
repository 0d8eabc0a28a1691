"""The proof of a password to a database: SCRAM-SHA-256, by which the database proves that it knows the password, too.

Reference: https://www.rfc-editor.org/rfc/rfc7677 and https://www.postgresql.org/docs/current/sasl-authentication.html
"""

import base64
import hashlib
import hmac
import secrets
import unicodedata
from enum import IntEnum

from mcpist.bounded_http.failures import ExchangeFailed

_MAX_ITERATIONS = 1_000_000
_NONCE_BYTES = 18
_NO_CHANNEL_BINDING = "n,,"


class _Request(IntEnum):
    OK = 0
    CLEARTEXT = 3
    MD5 = 5
    SASL = 10
    SASL_CONTINUE = 11
    SASL_FINAL = 12


class PasswordProof:
    """The answers to a server's requests for authentication, in their order."""

    def __init__(self, user: str, password: str, *, is_secure: bool) -> None:
        self._user = user
        self._password = password
        self._is_secure = is_secure
        self._first = f"n=,r={secrets.token_urlsafe(_NONCE_BYTES)}"
        self._signature = b""
        self._proves = False
        self.is_done = False
        """Whether the server is content, and has proved itself where the method lets it."""

    def answer(self, kind: int, body: bytes) -> bytes | None:
        """Return the answer to a request of some kind; None where nothing is to be sent. ExchangeFailed ends it."""
        try:
            match kind:
                case _Request.OK:
                    self.is_done = not self._proves
                    return None
                case _Request.CLEARTEXT if self._is_secure:
                    return self._password.encode() + b"\x00"
                case _Request.MD5 if self._is_secure:
                    return self._md5(body)
                case _Request.SASL if b"SCRAM-SHA-256" in body.split(b"\x00"):
                    return self._begin()
                case _Request.SASL_CONTINUE if self._proves:
                    return self._prove(body.decode())
                case _Request.SASL_FINAL if self._signature and hmac.compare_digest(
                    body.split(b",")[0], b"v=" + self._signature
                ):
                    self._proves = False
                    return None
        except (KeyError, ValueError):
            pass
        raise ExchangeFailed("it wants a login that is not supported, or did not prove that it knows the password")

    def _begin(self) -> bytes:
        self._proves = True
        first = (_NO_CHANNEL_BINDING + self._first).encode()
        return b"SCRAM-SHA-256\x00" + len(first).to_bytes(4) + first

    def _prove(self, challenge: str) -> bytes:
        fields = dict(part.split("=", 1) for part in challenge.split(","))
        nonce, iterations = fields["r"], int(fields["i"])
        if not nonce.startswith(self._first.partition("r=")[2]) or not 0 < iterations <= _MAX_ITERATIONS:
            raise ValueError
        without_proof = f"c={base64.b64encode(_NO_CHANNEL_BINDING.encode()).decode()},r={nonce}"
        message = f"{self._first},{challenge},{without_proof}".encode()
        password = unicodedata.normalize("NFKC", self._password).encode()
        salted = hashlib.pbkdf2_hmac("sha256", password, base64.b64decode(fields["s"]), iterations)
        key = hmac.digest(salted, b"Client Key", "sha256")
        signature = hmac.digest(hashlib.sha256(key).digest(), message, "sha256")
        proof = bytes(left ^ right for left, right in zip(key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", "sha256")
        self._signature = base64.b64encode(hmac.digest(server_key, message, "sha256"))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def _md5(self, salt: bytes) -> bytes:
        inner = hashlib.md5((self._password + self._user).encode(), usedforsecurity=False).hexdigest()
        return b"md5" + hashlib.md5(inner.encode() + salt, usedforsecurity=False).hexdigest().encode() + b"\x00"
