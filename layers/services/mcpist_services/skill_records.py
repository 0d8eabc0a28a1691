"""Records about an organization's skills: what an administrator has reviewed, and who wrote what waits for that.

Items of the ledger's table, under `pk` ORGANIZATION#skills:
    NAME             the hash of the reviewed files, which are stored as a definition; empty once the skill was removed
    NAME/FILE        who last wrote or removed a file, and the hash of its text
"""

import hashlib
from collections.abc import Mapping

from mcpist.aws.attributes import Item
from mcpist.aws.table import ledger_table
from mcpist.caller import Caller
from mcpist.memory import Memory
from mcpist.registry import definitions

FILE = "SKILL.md"
FOLDER = "skills/"
"""Of the organization's documents."""
CACHE_SECONDS, MAX_CACHED_RECORDS = 5, 100

_cache: Memory[str, dict[str, Item]] = Memory(CACHE_SECONDS, MAX_CACHED_RECORDS)


def reviewed_hash(organization: str, name: str) -> str:
    """Return the hash of the files of a skill that were reviewed; empty if none were."""
    return str(_read(organization).get(name, {}).get("sha256", ""))


def is_author(caller: Caller, name: str, files: Mapping[str, str]) -> bool:
    """Whether a caller wrote or removed each file that is not as it was reviewed."""
    items = _read(caller.organization)
    own = {key: item["sha256"] for key, item in items.items() if "/" in key and item["by"] == caller.user}
    if not any(key.startswith(f"{name}/") for key in own):
        return False
    digest = reviewed_hash(caller.organization, name)
    reviewed = definitions.load(caller.organization, digest) if digest else {}
    changed = [file for file in {*files, *reviewed} if files.get(file) != reviewed.get(file)]
    return all(own.get(f"{name}/{file}") == _hash(files.get(file)) for file in changed)


def note_change(caller: Caller, path: str, text: str | None) -> None:
    """Record who wrote a document that is a file of a skill, or removed it; a removed skill loses its review."""
    name, _, file = path.removeprefix(FOLDER).partition("/")
    if path.startswith(FOLDER) and file:
        record(caller, f"{name}/{file}", _hash(text))
        if file == FILE and text is None:
            record(caller, name, "")


def record(caller: Caller, key: str, digest: str) -> None:
    """Record that a caller wrote a file, or reviewed a skill."""
    ledger_table().set(f"{caller.organization}#skills", key, {"sha256": digest, "by": caller.user})
    _cache.drop(lambda organization, _: organization == caller.organization)


def _read(organization: str) -> dict[str, Item]:
    items = ledger_table().query
    return _cache.get_or_make(organization, lambda: {one["sk"]: one for one in items(f"{organization}#skills")})


def _hash(text: str | None) -> str:
    """Return the hash of a file's text; empty for one that was removed."""
    return "" if text is None else hashlib.sha256(text.encode()).hexdigest()
