"""Saved batches as items of the ledger's table, which expire only once they are deleted.

Under `pk` ORGANIZATION#saved:
    NAME             the present version
and under ORGANIZATION#saved#NAME:
    00001            an earlier version
An earlier version is written before the one that replaces it, so that none is lost.
"""

import time
from dataclasses import dataclass, field
from typing import Any

from mcpist.aws.attributes import decode, encode
from mcpist.aws.table import IS_NEW, holds, ledger_table
from mcpist.caller import Caller
from mcpist.errors import InvalidRequest, ToolNotFound, VersionChanged
from mcpist.memory import Memory
from mcpist.suggestions import nearest
from mcpist.tools.declare.tool import Effect

CACHE_SECONDS = 5
MAX_CACHED_SAVED = 100
MODULE = "saved"
"""The module that has the saved batches as tools."""
KEPT_SECONDS = 30 * 86_400
"""How long a deleted one is kept; saving under its name goes on with its versions."""


@dataclass(frozen=True, slots=True)
class SavedBatch:
    """One version of a saved batch."""

    name: str
    owner: str
    """The id of the user who saved its first version."""
    description: str
    commands: list[Any]
    """Its lines, as objects."""
    parameters: dict[str, Any]
    """The JSON Schema of each parameter, by its name; one with a default may be left out."""
    answer: str
    """The id of the step whose answer is its own."""
    version: int
    saved_by: str
    saved_at: int
    """In epoch seconds, as the other moments."""
    roles: tuple[str, ...] = ()
    """The roles that it is shared with."""
    effect: Effect = "reads"
    """The strongest effect of its steps."""
    columns: tuple[str, ...] = ()
    """The fields of its answer."""
    tools: tuple[str, ...] = ()
    """The full names of the tools that its steps use."""
    problem: str = ""
    """Why its last check against the catalogue failed."""
    checked_at: int = 0
    deleted_at: int = 0

    def is_visible_to(self, caller: Caller) -> bool:
        """Whether a caller may see and use it: its owner, an administrator, and the roles that it is shared with."""
        return self.is_editable_by(caller) or not set(self.roles).isdisjoint(caller.role_names)

    def is_editable_by(self, caller: Caller) -> bool:
        """Whether a caller may replace and delete it."""
        return self.owner == caller.user or caller.system_role == "admin"


@dataclass(frozen=True, slots=True)
class SavedBatches:
    """All saved batches of an organization at one moment, by their names."""

    by_name: dict[str, SavedBatch] = field(default_factory=dict)

    def of(self, caller: Caller) -> list[SavedBatch]:
        """Return those that a caller may see, by their names."""
        return [one for _, one in sorted(self.by_name.items()) if one.is_visible_to(caller)]

    def find(self, caller: Caller, name: str) -> SavedBatch:
        """Return one that a caller may see; ToolNotFound if there is none."""
        found = self.by_name.get(name)
        if found is None or not found.is_visible_to(caller):
            known = nearest(name, (one.name for one in self.of(caller)))
            raise ToolNotFound(module=MODULE, tool=name, known=known)
        return found


_cache: Memory[str, SavedBatches] = Memory(CACHE_SECONDS, MAX_CACHED_SAVED)


def read(organization: str, *, fresh: bool = False) -> SavedBatches:
    """Return the saved batches of an organization, cached for seconds unless they must be `fresh`."""
    if fresh:
        _cache.drop(lambda cached, _: cached == organization)
    return _cache.get_or_make(organization, lambda: _read(organization))


def has_any(organization: str) -> bool:
    """Whether an organization has saved a batch, by a request that reads one item."""
    return bool(ledger_table().query_page("pk", _partition(organization), (" ", "~"), limit=1)[0])


def read_version(caller: Caller, present: SavedBatch, version: int) -> SavedBatch:
    """Return a version of a saved batch; InvalidRequest if the caller could never use one of this number."""
    if version == present.version:
        return present
    item = ledger_table().get(*_version_key(caller.organization, present.name, version))
    found = decode(SavedBatch, item) if item else None
    # Under a name that was free again, and before it was shared, there are versions that others have not seen.
    if found is None or found.owner != present.owner or not found.is_visible_to(caller):
        raise InvalidRequest(field="version", problem=f"there are versions 1 to {present.version}")
    return found


def latest(organization: str, name: str) -> SavedBatch | None:
    """Return the present version under a name, a deleted one too."""
    item = ledger_table().get(_partition(organization), name)
    return decode(SavedBatch, item) if item else None


def store(organization: str, new: SavedBatch, old: SavedBatch | None) -> None:
    """Store the version that follows `old`; VersionChanged if somebody else was faster."""
    if old:
        pk, sk = _version_key(organization, old.name, old.version)
        ledger_table().set(pk, sk, encode(old))
    is_old, values = ("#version = :old", {":old": old.version}) if old else (IS_NEW, {})
    place, former = (_partition(organization), new.name), ("expires_at",)
    if not holds(ledger_table().set, *place, encode(new), remove=former, condition=is_old, values=values):
        raise VersionChanged(what=f"{MODULE}.{new.name}")
    _cache.drop(lambda cached, _: cached == organization)


def delete(organization: str, saved: SavedBatch) -> None:
    """Delete a saved batch: it is no tool any more, and vanishes after 30 days."""
    now = int(time.time())
    change = {"deleted_at": now, "expires_at": now + KEPT_SECONDS}
    ledger_table().set(_partition(organization), saved.name, change)
    _cache.drop(lambda cached, _: cached == organization)


def mark_checked(organization: str, saved: SavedBatch, problem: str) -> None:
    """Record the outcome of a check of this version."""
    change = {"checked_at": int(time.time()), "problem": problem}
    place, values = (_partition(organization), saved.name), {":checked": saved.version}
    # Where that fails a newer version was checked when it was saved.
    holds(ledger_table().set, *place, change, condition="#version = :checked", values=values)
    _cache.drop(lambda cached, _: cached == organization)


def _read(organization: str) -> SavedBatches:
    items = ledger_table().query(_partition(organization))
    found = (decode(SavedBatch, item) for item in items)
    return SavedBatches({one.name: one for one in found if not one.deleted_at})


def _partition(organization: str) -> str:
    return f"{organization}#saved"


def _version_key(organization: str, name: str, version: int) -> tuple[str, str]:
    return f"{_partition(organization)}#{name}", f"{version:05}"
