"""The bytes of files in the bucket: stored by their hash, and hashed again on every read."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from urllib.parse import quote, unquote

from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.errors import FileNotFound, FileTooLarge, IntegrityError
from mcpist.memory import Memory
from mcpist.settings import settings
from mcpist.spending import spending
from mcpist.telemetry.invocation import count_now
from mcpist.telemetry.metrics import INTEGRITY_FAILURES

MAX_LOADED_BYTES = 64_000_000  # a sandbox's memory holds a file several times while it is parsed
MAX_CACHED_BYTES = 4_000_000  # of one file
CHUNK_BYTES = 1 << 20
SHA256_CHARACTERS = 64

# Contents that have been read and checked, by path; a caller's right to a file is checked before.
_contents: Memory[str, bytes] = Memory(seconds=300, max_entries=8)


def digest_of(content: bytes) -> str:
    """Return the hash that a content is stored by."""
    return hashlib.sha256(content).hexdigest()


def path_of(organization: str, user: str, sha256: str) -> str:
    """Return where a user's file is in the bucket, in which no name can lead to another folder."""
    return f"files/{segment(organization)}/{segment(user)}/{sha256}"


def result_path(organization: str, sha256: str) -> str:
    """Return the path of a large result of the ledger, which is no user's file: only a batch leads to it."""
    return f"files/{segment(organization)}/{sha256}"


def change_path(organization: str, user: str, sha256: str) -> str:
    """Return the path of what was kept of a user's write, which the bucket keeps for 30 days."""
    return f"changes/{segment(organization)}/{segment(user)}/{sha256}"


def store(path: str, content: bytes, content_type: str) -> None:
    """Store a content under its path, and count its size for the organization that the path names."""
    spending.add(unquote(path.split("/")[1]), "bytes", len(content))
    with store_errors("files"):
        client("s3").put_object(Bucket=settings().files_bucket, Key=path, Body=content, ContentType=content_type)


def load(path: str, sha256: str, *, max_bytes: int = MAX_LOADED_BYTES) -> bytes:
    """Return a content after a check of its hash.

    IntegrityError, and an alarm, where it is not; FileTooLarge where it is too large for a sandbox's memory.
    """
    content = _contents.get(path)
    if content is None:
        content = b"".join(_chunks(path, sha256, max_bytes))
        if len(content) <= MAX_CACHED_BYTES:
            _contents.put(path, content)
    return content


def verify(path: str, sha256: str) -> int:
    """Return the size of a stored content, read again and of any size, after a check of its hash."""
    return sum(map(len, _chunks(path, sha256)))


def renew(path: str, content_type: str) -> None:
    """Let the days after which the bucket deletes a content begin anew."""
    bucket = settings().files_bucket
    with _missing_as_not_found(path), store_errors("files"):
        client("s3").copy_object(
            Bucket=bucket,
            Key=path,
            CopySource={"Bucket": bucket, "Key": path},
            MetadataDirective="REPLACE",
            ContentType=content_type,
        )


def _chunks(path: str, sha256: str, max_bytes: float = inf) -> Iterator[bytes]:
    """Yield the parts of a stored content; IntegrityError after the last one if the hash is wrong."""
    # In parts, since `verify` also reads contents that are larger than a sandbox's memory.
    digest = hashlib.sha256()
    with _missing_as_not_found(path), store_errors("files"):
        answer = client("s3").get_object(Bucket=settings().files_bucket, Key=path)
        if answer["ContentLength"] > max_bytes:
            raise FileTooLarge(path=path, size_bytes=answer["ContentLength"], limit_bytes=max_bytes)
        for chunk in answer["Body"].iter_chunks(CHUNK_BYTES):
            digest.update(chunk)
            yield chunk
    if digest.hexdigest() != sha256:
        count_now(INTEGRITY_FAILURES)
        raise IntegrityError(what=f"the file {path}")


@contextmanager
def _missing_as_not_found(path: str) -> Iterator[None]:
    try:
        yield
    except ResourceMissing:
        raise FileNotFound(path=path) from None


def segment(name: str) -> str:
    """Return the name of an organization or a user as one part of a path."""
    # A dot would be left alone by `quote`, and a name could be `..`.
    return quote(name, safe="").replace(".", "%2E")
