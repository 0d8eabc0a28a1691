"""Which tests are of a file of the product: those of the same name, those of its room, and those that import it."""

import re
from collections.abc import Iterator
from pathlib import Path

# The rooms of tests mirror those of the product.
ROOMS = {
    "layers/core/mcpist": "tests/core",
    "layers/services/mcpist_services": "tests/services",
    "functions": "tests",
    "infra": "tests/infra",
}
SOURCES = ("layers/core/", "layers/services/", "functions/", "")


def stages(root: Path, file: str) -> Iterator[list[str]]:
    """Yield the test files to run one after another, the nearest first; each of them once.

    First those of the file's name, and those of its room that import it; then the room, and what imports it elsewhere;
    at last the outermost room.
    """
    named, room, importing = _of_its_name(root, file), _of_its_room(root, file), _of_what_imports_it(root, file)
    seen = set[str]()
    for tests in ([*named, *(one for one in importing if one in room)], [*room, *importing], _around(root, file)):
        if fresh := [test for test in dict.fromkeys(tests) if test not in seen]:
            seen.update(fresh)
            yield fresh


def _of_its_name(root: Path, file: str) -> list[str]:
    """Return the tests of the same name in the room, and those of the room around it that the file is a room of."""
    place = _mirrored(file)
    return _paths(root, [root / place.parent / f"test_{place.stem}.py"])


def _of_its_room(root: Path, file: str) -> list[str]:
    """Return all tests in the folder of the room, and for a service those that hold for every tool."""
    folder = root / _mirrored(file).parent
    while not folder.exists():
        folder = folder.parent
    own = sorted(folder.glob("test_*.py"))
    every = sorted((root / "tests/services").glob("test_*.py")) if "mcpist_services/" in file else []
    return _paths(root, [*own, *(every if folder != root / "tests/services" else [])])


def _of_what_imports_it(root: Path, file: str) -> list[str]:
    """Return the tests that import the file, by its own name or by its package's, but for those of deployments."""
    module = re.sub(r"(/__init__)?\.py$", "", next(file.removeprefix(one) for one in SOURCES if file.startswith(one)))
    package, _, name = module.replace("/", ".").rpartition(".")
    whole = re.escape(f"{package}.{name}".lstrip("."))
    from_package = rf"from {re.escape(package)} import (?:[\w, ]*|\([\w,\s]*)\b{name}\b"
    pattern = re.compile(rf"(?:from|import) {whole}\b" + (f"|{from_package}" if package else ""))
    # Packages that others wrote, installed beside the tests, have tests of their own.
    others = {"whole", ".venv", "node_modules"}
    tests = sorted(test for test in (root / "tests").rglob("test_*.py") if others.isdisjoint(test.parts))
    return _paths(root, [test for test in tests if pattern.search(test.read_text("utf-8"))])


def _around(root: Path, file: str) -> list[str]:
    """Return all tests below the outermost room: those of a function, of a service, of a room of core."""
    source = next(source for source in ROOMS if file.startswith(f"{source}/"))
    folder = root / ROOMS[source] / Path(file).relative_to(source).parts[0]
    return _paths(root, sorted(folder.rglob("test_*.py")))


def _mirrored(file: str) -> Path:
    """Return where the file would be among the tests."""
    source = next(source for source in ROOMS if file.startswith(f"{source}/"))
    return Path(ROOMS[source]) / Path(file).relative_to(source)


def _paths(root: Path, files: list[Path]) -> list[str]:
    return [file.relative_to(root).as_posix() for file in files if file.exists()]
