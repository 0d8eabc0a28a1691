"""A service's declarations with one text of their source replaced."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, invalidate_caches
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType

from mcpist.tools.declare.module import Module

PACKAGE = "mcpist_services"


def mutant(service: str, old: str, new: str) -> Module:
    """Return the module of a service, imported anew with a text replaced, which must be once in one of its files."""
    file = _file_with(service, old)
    target = ".".join([PACKAGE, service, *file.relative_to(_folder(service)).with_suffix("").parts])
    finder = _Finder(_Loader(target, str(file), old, new))
    with _forgotten(f"{PACKAGE}.{service}"):
        sys.meta_path.insert(0, finder)
        try:
            module: Module = getattr(import_module(f"{PACKAGE}.{service}.tools"), service)
        finally:
            sys.meta_path.remove(finder)
    return module


def _folder(service: str) -> Path:
    spec = find_spec(f"{PACKAGE}.{service}")
    assert spec
    assert spec.origin
    return Path(spec.origin).parent


def _file_with(service: str, text: str) -> Path:
    counts = {file: file.read_text("utf-8").count(text) for file in _folder(service).rglob("*.py")}
    found = [file for file, count in counts.items() if count]
    assert sum(counts.values()) == 1, f"{service} has {text!r} {sum(counts.values())} times"
    return found[0]


class _Finder(MetaPathFinder):
    def __init__(self, loader: SourceFileLoader) -> None:
        self.loader = loader

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return spec_from_file_location(name, loader=self.loader) if name == self.loader.name else None


class _Loader(SourceFileLoader):
    def __init__(self, name: str, path: str, old: str, new: str) -> None:
        super().__init__(name, path)
        self.old, self.new = old, new

    def get_code(self, _: str) -> CodeType:
        source = self.get_data(self.path).decode()
        return compile(source.replace(self.old, self.new), self.path, "exec")


@contextmanager
def _forgotten(package: str) -> Iterator[None]:
    """Let a package be imported anew, and restore the one that there was."""
    known = {name: one for name, one in sys.modules.items() if name == package or name.startswith(f"{package}.")}
    for name in known:
        del sys.modules[name]
    invalidate_caches()
    try:
        yield
    finally:
        for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
            del sys.modules[name]
        sys.modules.update(known)
        parent, _, child = package.rpartition(".")
        if package in known:
            setattr(sys.modules[parent], child, known[package])
