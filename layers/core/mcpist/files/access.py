"""Files as a caller may have them: its own, and those that are shared with one of its roles.

An address is a file's path, its hash, or `{path, sha256}`, as answers name it. A file that a caller may not read does
not exist for it.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from mcpist.caller import Caller
from mcpist.errors import AuthorizationError, FileExpired, FileNotFound, InvalidRequest
from mcpist.files import records, storage
from mcpist.files.content import CONTENT_TYPES
from mcpist.files.records import SHORT_HASH_CHARACTERS, FileRecord
from mcpist.spending import spending

type Address = str | Mapping[str, Any]

_SHA256 = re.compile(r"[a-f0-9]{64}")
_PATH = re.compile(rf"(files/[^/]+/[^/]+/([a-f0-9]{{{SHORT_HASH_CHARACTERS}}}))/[^/]+")
_ESCAPES = re.compile(r"\.\.|[\\\x00\r\n]|^/")
_SHORT_REFERENCE = {"path", "sha256"}
_REFERENCE = {*_SHORT_REFERENCE, "size_bytes", "content_type", "created_at"}


def put(caller: Caller, content: bytes, content_type: str, name: str = "") -> FileRecord:
    """Store a content as the caller's file."""
    return records.record(caller.organization, caller.user, content, content_type, name)


def find(caller: Caller, address: Address, field: str = "path") -> FileRecord:
    """Return the caller's file at an address, else one that is shared with it; FileNotFound, FileExpired.

    DayLimitReached where the organization has spent its bytes: nobody takes what is stored out again then.
    """
    spending.check(caller.organization, "bytes")
    stem, sha256 = parse_address(address, field)
    own = records.find(caller.organization, caller.user, sha256)
    if own and stem in {"", own.stem} and not own.is_expired:
        return own
    shared = records.find_shared(caller.organization, caller.role_names, sha256)
    file = next((one for one in shared if stem in {"", one.stem}), None)
    if file:
        return file
    if own and stem in {"", own.stem}:
        raise FileExpired(path=own.path, expired_at=own.expiry)
    raise FileNotFound(path=address if isinstance(address, str) else address["path"])


def load(caller: Caller, address: Address, field: str = "path") -> tuple[FileRecord, bytes]:
    """Return a file that the caller may read, and its content after a check of its hash."""
    file = find(caller, address, field)
    return file, storage.load(file.key, file.sha256)


def load_text(caller: Caller, address: Address, field: str = "path") -> tuple[FileRecord, str]:
    """Return a file and its text; InvalidRequest for a file that is not text."""
    file = find(caller, address, field)
    return file, text_of(file, field)


def text_of(file: FileRecord, field: str, *, max_bytes: int = storage.MAX_LOADED_BYTES) -> str:
    """Return the text of a file that a caller may read, and that is not too large."""
    problem = f"it is {file.content_type} of {file.size_bytes} bytes, not text: only stat and verify can be used"
    if not file.is_text:
        raise InvalidRequest(field=field, problem=problem)
    try:
        return storage.load(file.key, file.sha256, max_bytes=max_bytes).decode()
    except UnicodeDecodeError:
        raise InvalidRequest(field=field, problem=problem) from None


def list_existing(caller: Caller) -> list[FileRecord]:
    """Return the records of all files of the organization, for an administrator."""
    if caller.system_role != "admin":
        raise AuthorizationError(name="files of others")
    return records.find_all(caller.organization)


def share(caller: Caller, address: Address, roles: Collection[str], field: str = "path") -> FileRecord:
    """Share a file of the caller with exactly these of its roles; none takes all shares back."""
    file = find(caller, address, field)
    if file.user != caller.user:
        raise InvalidRequest(field=field, problem="it belongs to somebody else, who alone can share it")
    foreign = sorted(set(roles) - {*caller.role_names, *file.roles})
    if foreign:
        raise InvalidRequest(field="roles", problem=f"you do not have the role {foreign[0]}")
    return records.share(file, roles)


def parse_address(address: Any, field: str) -> tuple[str, str]:
    """Return the stem of a file's path, empty where only a hash is given, and as much of the hash as is known.

    InvalidRequest for anything else.
    """
    if isinstance(address, str) and _SHA256.fullmatch(address):
        return "", address
    if isinstance(address, str):
        return _split(address, field)
    sha256 = _check_reference(address, field)
    stem, beginning = _split(address["path"], f"{field}.path")
    if not sha256.startswith(beginning):
        raise InvalidRequest(field=f"{field}.sha256", problem="it is not the hash of the file at this path")
    return stem, sha256


def is_reference(value: Any) -> bool:
    """Whether a value is the reference of a file here; no other value has such a path."""
    if not isinstance(value, Mapping) or not _SHORT_REFERENCE <= value.keys() <= _REFERENCE:
        return False
    path, sha256 = value["path"], value["sha256"]
    return isinstance(path, str) and isinstance(sha256, str) and _PATH.fullmatch(path) is not None


def _check_reference(value: Any, field: str) -> str:
    """Return the hash in a reference, which may leave out all but the path and the hash."""
    from mcpist.files.reference import AttachmentReference, FileReference, check  # a cold start need not wait for these

    if isinstance(value, Mapping) and value.keys() == _SHORT_REFERENCE:
        value = {**value, "size_bytes": 0, "content_type": "text/plain", "created_at": "2000-01-01T00:00:00Z"}
    is_attachment = isinstance(value, Mapping) and value.get("content_type") not in {None, *CONTENT_TYPES}
    return check(AttachmentReference if is_attachment else FileReference, value, field).sha256


def _split(path: str, field: str) -> tuple[str, str]:
    """Return the stem of a path, and the beginning of the hash with which it ends; FileNotFound for no file's path."""
    if _ESCAPES.search(path):
        raise InvalidRequest(field=field, problem="a path has no .., no backslash and no slash at its beginning")
    named = _PATH.fullmatch(path)
    if named is None:
        raise FileNotFound(path=path)
    return named[1], named[2]
