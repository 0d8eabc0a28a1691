"""Signature version 4 of a POST request to `/`, as the services with a JSON protocol take it.

Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from functools import lru_cache

from mcpist.aws.credentials import Credentials

ALGORITHM = "AWS4-HMAC-SHA256"


def signed_headers(
    headers: Mapping[str, str], body: bytes, credentials: Credentials, *, service: str, region: str, now: float
) -> dict[str, str]:
    """Return the headers of a request with its signature; their names are in lower case, and `host` is one of them."""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(now))
    signed = {**headers, "x-amz-date": moment}
    if credentials.token:
        signed["x-amz-security-token"] = credentials.token
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
