"""The access keys of this run, their holders, and the key with which a request is signed."""

import secrets
from dataclasses import dataclass
from urllib.parse import parse_qs

from infra.local.server import LoopbackRequest


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """The holder of an access key: a function's sandbox, `client` (tests, seeding) or `states` (Step Functions)."""

    id: str
    function: str | None = None


class Keyring:
    """The access keys that this run issued; all others are refused. Nobody reads signatures: any secret fits a key."""

    def __init__(self) -> None:
        self._callers: dict[str, KeyHolder] = {}

    def issue(self, caller: KeyHolder) -> str:
        """Return a new random access key for a caller."""
        access_key = f"ASIA{secrets.token_hex(16).upper()}"
        self._callers[access_key] = caller
        return access_key

    def caller(self, access_key: str) -> KeyHolder | None:
        """Return the holder of an access key, if this run issued it."""
        return self._callers.get(access_key)


def credential_scope(request: LoopbackRequest) -> tuple[str, str] | None:
    """Return the access key and the service of a signature; None for a request that is not signed for AWS."""
    authorization = request.headers.get("authorization", "")
    if authorization.startswith("AWS4-HMAC-SHA256"):
        _, _, rest = authorization.partition("Credential=")
        credential = rest.split(",", 1)[0].strip()
    elif "X-Amz-Signature=" in request.query:
        credential = parse_qs(request.query).get("X-Amz-Credential", [""])[0]
    elif "AWSAccessKeyId=" in request.query:
        # A presigned URL of signature version 2, which S3 refuses for buckets under a KMS key.
        return "", "s3"
    else:
        return None
    parts = credential.split("/")
    return (parts[0], parts[-2].lower()) if len(parts) >= 5 else ("", "")
