"""Records of files: the owner of each, the time for which it is kept, and the roles that it is shared with.

They are items of the ledger's table, under `pk` ORGANIZATION#files and ORGANIZATION#file-shares:
    USER#SHA256             a user's file
    ROLE#SHA256#USER        a share of it with a role
and, so that a page of a list reads no more than it shows, under ORGANIZATION#file-list#user#USER and, where it is
shared, ORGANIZATION#file-list#role#ROLE:
    CREATED#SHA256#USER     its place in that list, by its age
A record that has expired counts as none; DynamoDB deletes it later.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from mcpist.aws.attributes import Item, decode, encode
from mcpist.aws.clients import ConditionFailed
from mcpist.aws.table import ledger_table
from mcpist.files import storage
from mcpist.files.content import CONTENT_TYPES, file_name
from mcpist.settings import settings

if TYPE_CHECKING:
    from mcpist.files.reference import AttachmentReference, FileReference

DAY_SECONDS = 86_400
SHORT_HASH_CHARACTERS = 12
"""Of the hash, in a path."""
_LIVE = "#expires_at > :now"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A user's file."""

    organization: str
    user: str
    """The user who caused it and owns it."""
    sha256: str
    size_bytes: int
    content_type: str
    name: str
    """As it stands in its path; the same content has the name that it was first stored under."""
    created_at: str
    """A date-time of RFC 3339."""
    expires_at: int
    """Seconds since the epoch."""
    roles: tuple[str, ...] = ()
    """The roles that it is shared with."""

    @property
    def path(self) -> str:
        """The path by which it is named."""
        return f"{self.stem}/{self.name}"

    @property
    def stem(self) -> str:
        """The part of its path that only it has."""
        return self.key[: -storage.SHA256_CHARACTERS + SHORT_HASH_CHARACTERS]

    @property
    def key(self) -> str:
        """Where its content is in the bucket."""
        return storage.path_of(self.organization, self.user, self.sha256)

    @property
    def place(self) -> str:
        """The text that sorts files by their age, and that no two have."""
        return f"{self.created_at}#{self.sha256}#{self.user}"

    @property
    def is_text(self) -> bool:
        """Whether it is a file of text, not an attachment."""
        return self.content_type in CONTENT_TYPES

    @property
    def reference(self) -> "FileReference | AttachmentReference":
        """The reference by which it is named in answers and arguments."""
        # A cold start need not wait for these.
        from mcpist.files.reference import AttachmentReference, FileReference, check

        fields = {name: getattr(self, name) for name in FileReference.model_fields}
        return check(FileReference, fields, "file") if self.is_text else check(AttachmentReference, fields, "file")

    @property
    def expiry(self) -> str:
        """The date-time until which it is kept."""
        return datetime.fromtimestamp(self.expires_at, UTC).isoformat(timespec="seconds")

    @property
    def is_expired(self) -> bool:
        """Whether its days are over."""
        return self.expires_at <= time.time()


observers: list[Callable[[FileRecord], None]] = []
"""Are told of each file that was stored."""


def record(organization: str, user: str, content: bytes, content_type: str, name: str = "") -> FileRecord:
    """Store a content as a user's file, and return its record; the same content is the same file, kept anew."""
    made = FileRecord(
        organization=organization,
        user=user,
        sha256=storage.digest_of(content),
        size_bytes=len(content),
        content_type=content_type,
        name=file_name(name, content_type),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        expires_at=_days_end(),
    )
    storage.store(made.key, content, content_type)
    file = _write(made)
    for tell in observers:
        tell(file)
    return file


def find(organization: str, user: str, sha256: str) -> FileRecord | None:
    """Return a user's file by its hash or the beginning of it, expired ones too; None where there is none."""
    pk, key = partition(organization), key_of(user, sha256)
    if len(sha256) < storage.SHA256_CHARACTERS:
        item = next(iter(ledger_table().query(pk, key)), None)
    else:
        item = ledger_table().get(pk, key)
    return decode(FileRecord, item) if item else None


def find_shared(organization: str, roles: Iterable[str], sha256: str = "") -> list[FileRecord]:
    """Return the files that are shared with any of the roles now; with a hash those of this content."""
    shares = [item for role in roles for item in ledger_table().query(_shares_pk(organization), key_of(role, sha256))]
    owners = {(item["user"], item["sha256"]): item["role"] for item in shares}
    found = ((find(organization, user, digest), role) for (user, digest), role in owners.items())
    return [file for file, role in found if file and role in file.roles and not file.is_expired]


def find_all(organization: str, user: str | None = None) -> list[FileRecord]:
    """Return the files of a user, or of all users, that have not expired, the newest first."""
    items = ledger_table().query(partition(organization), key_of(user) if user is not None else "")
    live = (file for file in (decode(FileRecord, item) for item in items) if not file.is_expired)
    return sorted(live, key=lambda file: (file.created_at, file.sha256), reverse=True)


def items_of(file: FileRecord) -> list[Item]:
    """Return the items of a file that is shared with nobody."""
    record = encode(file) | {"pk": partition(file.organization), "sk": key_of(file.user, file.sha256)}
    return [record, _place_item(file, f"user#{quote(file.user)}", file.expires_at)]


def share(file: FileRecord, roles: Iterable[str]) -> FileRecord:
    """Share a file with exactly these roles, and return its record."""
    wanted = tuple(sorted(set(roles)))
    # A share that ends expires at once instead of being deleted: a repeated request finds the same items.
    for role in {*wanted, *file.roles}:
        _put_share(file, role, expires_at=file.expires_at if role in wanted else 0)
    _update(file, {"roles": list(wanted)})
    return replace(file, roles=wanted)


def keep(file: FileRecord, until: float) -> FileRecord:
    """Let a file's days begin anew if it would expire before a time, and return its record."""
    if file.expires_at >= until:
        return file
    storage.renew(file.key, file.content_type)
    renewed = replace(file, expires_at=_days_end())
    _update(_list(renewed), {"expires_at": renewed.expires_at})
    for role in renewed.roles:
        _put_share(renewed, role, expires_at=renewed.expires_at)
    return renewed


def _write(made: FileRecord) -> FileRecord:
    """Write a record; one of the same content that has not expired keeps its age and its shares."""
    item = encode(made) | {"roles": []}
    kept = {name: value for name, value in item.items() if name not in {"name", "created_at", "roles"}}
    try:
        stored = decode(FileRecord, _update(made, kept, condition=_LIVE, values={":now": int(time.time())}))
    except ConditionFailed:
        stored = decode(FileRecord, _update(made, item))
    return _list(stored)


def _update(file: FileRecord, change: Item, condition: str = "", values: Item | None = None) -> Item:
    key = partition(file.organization), key_of(file.user, file.sha256)
    return ledger_table().set(*key, change, condition=condition, values=values)


def _put_share(file: FileRecord, role: str, expires_at: int) -> None:
    change: Item = {"user": file.user, "role": role, "sha256": file.sha256, "expires_at": expires_at}
    ledger_table().set(_shares_pk(file.organization), f"{key_of(role, file.sha256)}#{file.user}", change)
    ledger_table().put(_place_item(file, f"role#{quote(role)}", expires_at))


def _list(file: FileRecord) -> FileRecord:
    """Give a file its place in its owner's list, and return it."""
    ledger_table().put(_place_item(file, f"user#{quote(file.user)}", file.expires_at))
    return file


def _place_item(file: FileRecord, owner: str, expires_at: int) -> Item:
    about: Item = {"user": file.user, "sha256": file.sha256, "type": file.content_type, "expires_at": expires_at}
    about["name"] = file.name
    return {"pk": f"{file.organization}#file-list#{owner}", "sk": file.place, **about}


def _days_end() -> int:
    return int(time.time()) + settings().file_days * DAY_SECONDS


def partition(organization: str) -> str:
    """Return the partition of an organization's files."""
    return f"{organization}#files"


def _shares_pk(organization: str) -> str:
    return f"{organization}#file-shares"


def key_of(owner: str, sha256: str = "") -> str:
    """Return the sort key of an owner's file, or the prefix of all its files."""
    return f"{quote(owner, safe='')}#{sha256}"
