"""The folder of a run, removed with everything in it, and the file that a program is: packaged or allow-listed."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from mcpist.errors import InvalidRequest, ProgramUnavailable
from mcpist.settings import settings

# Where systems have programs and what these read, but neither accounts nor data of people.
INSTALLED = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
    *(f"/usr/{name}" for name in ("bin", "sbin", "lib", "lib32", "lib64", "libexec", "libx32", "share")),
    *(f"/usr/local/{name}" for name in ("bin", "lib", "lib64", "libexec", "share")),
    *(f"/etc/{name}" for name in ("alternatives", "fonts", "ld.so.cache", "localtime", "mime.types")),
    "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    *(f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")),
)  # fmt: skip


@contextmanager
def run_folder() -> Iterator[Path]:
    """Make a folder with `work`, where the program runs, and `tmp`, its HOME; remove it at the end of the context."""
    root = Path(tempfile.mkdtemp(prefix="run-"))
    try:
        for name in ("work", "tmp"):
            (root / name).mkdir(mode=0o700)
        yield root
    finally:
        open_all(root)
        shutil.rmtree(root)


def write(work: Path, name: str, content: bytes) -> None:
    """Put an input into the folder, whose name is a path within it."""
    path = work / name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            file.write(content)
    except (FileExistsError, NotADirectoryError):
        raise InvalidRequest(field="inputs", problem=f"two files cannot both be at {name}") from None


def open_all(root: str | Path) -> None:
    """Let our user read and change all folders of a run: its program may have closed some, also within each other."""
    os.chmod(root, stat.S_IRWXU)
    for folder, names, _ in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            # A path may be longer than the kernel takes; rmtree, which goes by descriptors, needs none.
            with suppress(OSError):
                if not os.path.islink(path):
                    os.chmod(path, stat.S_IRWXU)


def locate(program: str) -> Path:
    """Return a program's file; ProgramUnavailable if there is none, or it may not run."""
    path = _allowed(program) if program.startswith("/") else _packaged(program)
    if not path.is_file():
        raise ProgramUnavailable(service=program, program=program, problem="it is missing")
    if not os.access(path, os.X_OK):
        raise ProgramUnavailable(service=program, program=program, problem="it is not executable")
    return path


def visible_paths(program: str, file: Path) -> tuple[str, ...]:
    """Return the paths that a program sees beside its own folder: what this machine has installed, and its package."""
    package = Path(settings().programs).resolve()
    own = file if program.startswith("/") else package / file.relative_to(package).parts[0]
    others = [path for path in (sys.base_prefix, str(own)) if not _is_below(path, INSTALLED)]
    return (*INSTALLED, *others)


def _is_below(path: str, folders: Collection[str]) -> bool:
    return any(PurePath(path).is_relative_to(folder) for folder in folders)


def _allowed(program: str) -> Path:
    if program not in settings().allowed_programs:
        raise ProgramUnavailable(service=program, program=program, problem="it is not on this machine's allow-list")
    return Path(program)


def _packaged(program: str) -> Path:
    package = Path(settings().programs).resolve()
    path = (package / program).resolve()
    if not path.is_relative_to(package):
        raise ProgramUnavailable(service=program, program=program, problem="it leads out of its package")
    return path
