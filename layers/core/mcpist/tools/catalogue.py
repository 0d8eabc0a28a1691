"""The catalogue: every module by its name, imported when it is first used."""

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from mcpist.tools.module import Module


class Catalogue:
    """Modules of one package; each stands in a file of its own name, under its own name."""

    def __init__(self, package: str, names: Iterable[str]) -> None:
        self.package = package
        self.names = tuple(names)
        self.module = cache(self._module)

    def _module(self, name: str) -> Module:
        module: Module = getattr(import_module(f"{self.package}.{name}"), name)
        return module


def nearest(word: str, words: Iterable[str], most: int = 5) -> str:
    """The words that were perhaps meant, nearest first, as text for a hint."""
    words = list(words)
    close = get_close_matches(word, words, n=most, cutoff=0.5)
    return ", ".join(close or words[:most]) or "none"
