"""The folder of a run: empty at first, and removed with everything in it."""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mcpist.errors import InvalidRequest


@contextmanager
def run_folder() -> Iterator[Path]:
    """Make a folder with `work`, where the program runs, and `tmp`, its HOME; remove it at the end of the context."""
    root = Path(tempfile.mkdtemp(prefix="run-"))
    try:
        for name in ("work", "tmp"):
            (root / name).mkdir(mode=0o700)
        yield root
    finally:
        shutil.rmtree(root, onexc=_open_and_retry)


def write(work: Path, name: str, content: bytes) -> None:
    """Put an input into the folder, whose name is a path within it."""
    path = work / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except (FileExistsError, NotADirectoryError):
        raise InvalidRequest(field="inputs", problem=f"two files cannot both be at {name}") from None


def _open_and_retry(remove: Callable[[str], Any], path: str, _: BaseException) -> None:
    """Remove what is in a folder that the program has closed to its own user."""
    for closed in (os.path.dirname(path), path):
        if not os.path.islink(closed):
            os.chmod(closed, stat.S_IRWXU)
    if remove in (os.open, os.scandir, os.lstat) or os.path.isdir(path):
        shutil.rmtree(path)
    else:
        remove(path)
