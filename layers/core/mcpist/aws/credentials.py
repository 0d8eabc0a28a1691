"""The credentials of a function, and the signature (version 4) that they make for a POST request to `/`.

They are in its environment or, after a restore from a snapshot, at a local address. Botocore reads both as well, and
many others; importing it for that would take a fifth of a cold start.

Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html,
https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html and
https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hashlib
import hmac
import http.client
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from math import inf
from urllib.parse import urlsplit

from mcpist.memory import on_forget

FETCH_SECONDS = 2.0
# Credentials are fetched anew when they end within this time; if that fails, they are used to their end.
REFRESH_SECONDS = 600
ALGORITHM = "AWS4-HMAC-SHA256"


class CredentialsUnavailable(Exception):
    """No credentials can be had now."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Keys that requests are signed with."""

    access_key: str
    secret_key: str = field(repr=False)
    token: str = field(repr=False)
    """The session's token; empty for keys without a session."""
    expires_at: float = inf
    """Seconds since 1970."""


class FunctionCredentials:
    """The credentials of this function, which are fetched again before they end."""

    def __init__(self) -> None:
        self._held: Credentials | None = None
        on_forget(self.forget)

    def forget(self) -> None:
        """Fetch them anew for the next request."""
        self._held = None

    def current(self) -> Credentials:
        """Return credentials that are valid now; CredentialsUnavailable if there are none."""
        held, now = self._held, time.time()
        if held and now < held.expires_at - REFRESH_SECONDS:
            return held
        try:
            self._held = held = _from_environment() or _fetched()
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            problem = type(error).__name__  # its text may quote a secret
        else:
            problem = "expired"
        if not held or held.expires_at <= now:
            raise CredentialsUnavailable(problem)
        return held


def _from_environment() -> Credentials | None:
    environment = os.environ
    if "AWS_ACCESS_KEY_ID" not in environment:
        return None
    token = environment.get("AWS_SESSION_TOKEN", "")
    return Credentials(environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"], token)


def _fetched() -> Credentials:
    """Return the credentials that the runtime serves to this sandbox."""
    url = urlsplit(os.environ["AWS_CONTAINER_CREDENTIALS_FULL_URI"])
    connection = http.client.HTTPConnection(url.netloc, timeout=FETCH_SECONDS)
    try:
        headers = {"Authorization": os.environ["AWS_CONTAINER_AUTHORIZATION_TOKEN"], "Accept": "application/json"}
        connection.request("GET", f"{url.path}?{url.query}" if url.query else url.path, headers=headers)
        response = connection.getresponse()
        found = json.loads(response.read())
        if response.status != http.client.OK:
            raise ValueError(response.status)
    finally:
        connection.close()
    expires_at = datetime.fromisoformat(found["Expiration"]).timestamp()
    return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["Token"], expires_at)


function_credentials = FunctionCredentials()


def signed_headers(
    headers: Mapping[str, str], body: bytes, credentials: Credentials, *, service: str, region: str, now: float
) -> dict[str, str]:
    """Return the headers of a request with its signature; their names are in lower case, and `host` is one of them."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    signed = {**headers, "x-amz-date": moment}
    if credentials.token:
        signed["x-amz-security-token"] = credentials.token
    # The signature covers every header, so nothing on the way can add or change one.
    names = ";".join(sorted(signed))
    lines = "".join(f"{name}:{signed[name]}\n" for name in sorted(signed))
    canonical = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
    day = moment[:8]
    scope = f"{day}/{region}/{service}/aws4_request"
    text = f"{ALGORITHM}\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    signature = hmac.digest(_key(credentials.secret_key, day, region, service), text.encode(), "sha256").hex()
    signed["authorization"] = (
        f"{ALGORITHM} Credential={credentials.access_key}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return signed


@lru_cache(maxsize=4)
def _key(secret: str, day: str, region: str, service: str) -> bytes:
    """Return the key of a day, which signs all its requests."""
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
