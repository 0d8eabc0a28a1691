"""The catalogue: every module by its name, imported when a tool of it is first used; listed without importing any."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from mcpist.tools.index import Index
from mcpist.tools.module import Module

INDEX_FILE = "index.json"


class Catalogue:
    """Modules of one package; each stands in a file of its own name, under its own name."""

    def __init__(self, package: str, names: Iterable[str]) -> None:
        self.package = package
        self.names = tuple(names)
        self.module = cache(self._module)

    @cached_property
    def index(self) -> Index:
        """What the build wrote down of the modules; where none was made, what they say themselves."""
        file = self.folder / INDEX_FILE
        return Index.load(file.read_text("utf-8")) if file.exists() else self.read()

    @property
    def folder(self) -> Path:
        """Where the package is."""
        spec = find_spec(self.package)
        if spec is None or spec.origin is None:
            raise ImportError(f"{self.package} is no package")
        return Path(spec.origin).parent

    def read(self) -> Index:
        """The index of the modules as they are now; this imports them all."""
        return Index.of(map(self.module, self.names))

    def write(self) -> None:
        """Write down the index, as the build does."""
        (self.folder / INDEX_FILE).write_text(self.read().dump(), "utf-8")

    def _module(self, name: str) -> Module:
        module: Module = getattr(import_module(f"{self.package}.{name}"), name)
        return module


def nearest(word: str, words: Iterable[str], most: int = 5) -> str:
    """The words that were perhaps meant, nearest first, as text for a hint."""
    words = list(words)
    close = get_close_matches(word, words, n=most, cutoff=0.5)
    return ", ".join(close or words[:most]) or "none"
