"""Files that a command writes whole or not at all, such as those with secrets of a person."""

import os
import secrets
from pathlib import Path

ONLY_OWNER = 0o600


def write_whole(file: Path, text: str, *, mode: int | None = None) -> None:
    """Replace a file, so that no reader sees half of it; its folder is made. OSError leaves it as it was.

    What a link leads to is replaced. The file gets the `mode`, else that of the file before; a new one is its owner's
    alone.
    """
    place = file.resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = place.with_name(f".{place.name}.{secrets.token_hex(8)}")
    try:
        # Until it is whole nobody else reads it: the file may hold secrets.
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, ONLY_OWNER), "w", encoding="utf-8") as written:
            written.write(text)
        before = place.stat().st_mode & 0o777 if place.exists() else ONLY_OWNER
        draft.chmod(before if mode is None else mode)
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)
