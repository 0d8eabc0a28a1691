"""Files: large results that are kept out of the context, stored by their hashes in the organization's folder."""

import hashlib
import json
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from mcpist.aws.clients import ResourceMissing, client, store_errors
from mcpist.errors import FileNotFound
from mcpist.settings import settings


@dataclass(frozen=True, slots=True)
class File:
    """A stored result; the same content has the same path."""

    path: str
    sha256: str
    size_bytes: int
    content_type: str
    created_at: str

    def as_dict(self) -> dict[str, Any]:
        """Return the file reference as it is shown in answers and used in references."""
        return asdict(self)


def put(organization: str, content: bytes, content_type: str = "application/json") -> File:
    """Store content for an organization."""
    digest = hashlib.sha256(content).hexdigest()
    file = File(
        path=_path(organization, digest),
        sha256=digest,
        size_bytes=len(content),
        content_type=content_type,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with store_errors("files"):
        client("s3").put_object(Bucket=settings().files_bucket, Key=file.path, Body=content, ContentType=content_type)
    return file


def get(organization: str, path: str) -> bytes:
    """Return the content of an organization's file; FileNotFound also for a file of another organization."""
    if path != _path(organization, path.rpartition("/")[2]):
        raise FileNotFound(path=path)
    try:
        with store_errors("files"):
            content: bytes = client("s3").get_object(Bucket=settings().files_bucket, Key=path)["Body"].read()
    except ResourceMissing:
        raise FileNotFound(path=path) from None
    return content


def truncate(organization: str, text: str, max_characters: int) -> str:
    """Return the text, or if it is too long its beginning and a reference to a file with the whole text."""
    if len(text) <= max_characters:
        return text
    file = put(organization, text.encode(), "text/plain; charset=utf-8")
    note = f"\n[cut: {len(text)} characters; all of it: {json.dumps(file.as_dict())}]"
    return text[: max(0, max_characters - len(note))] + note


def _path(organization: str, digest: str) -> str:
    return f"files/{organization}/{digest}"
