"""Presigned transfers between the bucket and a run, which has no rights of its own.

Each is bound to its method and its key; that of an output to a type and a size as well. They end after minutes.
"""

from secrets import token_hex
from urllib.parse import quote

from mcpist.aws.clients import client, store_errors
from mcpist.files import storage
from mcpist.programs.messages import MAX_FILE_BYTES, MAX_UPLOADS, Upload
from mcpist.settings import settings

PRESIGNED_SECONDS = 180
UPLOAD_TYPE = "application/octet-stream"


def new_key(organization: str) -> str:
    """Return a key that nobody knows yet, under which the bucket keeps a content for a day."""
    return f"incoming/{quote(organization, safe='').replace('.', '%2E')}/{token_hex(16)}"


def store(organization: str, content: bytes) -> str:
    """Store an input that is too large for a message, and return its key."""
    key = new_key(organization)
    storage.store(key, content, UPLOAD_TYPE)
    return key


def download_url(key: str) -> str:
    """Return a URL with which this object alone can be read."""
    with store_errors("files"):
        url: str = client("s3", signature="s3v4").generate_presigned_url(
            "get_object", {"Bucket": settings().files_bucket, "Key": key}, ExpiresIn=PRESIGNED_SECONDS
        )
    return url


def uploads(organization: str, max_bytes: int = MAX_FILE_BYTES) -> tuple[tuple[str, Upload], ...]:
    """Return the keys of large outputs, and the form with which each can be left once."""
    keys = [new_key(organization) for _ in range(MAX_UPLOADS)]
    return tuple((key, _upload(key, max_bytes)) for key in keys)


def load(key: str, sha256: str) -> bytes:
    """Return an output that was left under a key; IntegrityError if its hash is not the one that the runner names."""
    return storage.load(key, sha256)


def _upload(key: str, max_bytes: int) -> Upload:
    with store_errors("files"):
        form = client("s3", signature="s3v4").generate_presigned_post(
            settings().files_bucket,
            key,
            Fields={"Content-Type": UPLOAD_TYPE},
            Conditions=[{"Content-Type": UPLOAD_TYPE}, ["content-length-range", 0, max_bytes]],
            ExpiresIn=PRESIGNED_SECONDS,
        )
    return Upload(url=form["url"], fields=form["fields"])
