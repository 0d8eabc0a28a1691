"""References: `$ref`s within a description, and to files of its own folder, followed without circles."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mcpist_services.described.reading import MAX_DEPTH, MAX_DESCRIPTION_BYTES, read, refuse

FILES = "x-mcpist-files"  # where a bundled description keeps the other files
MAX_FILES = 500

_EXAMPLES = ("example", "examples")  # what an example holds is no reference of the description


def bundle(root: dict[str, Any], folder: Path | None) -> dict[str, Any]:
    """Return the description with the files that it refers to inside it, so that every `$ref` is local."""
    return _Bundle(root, folder).bundled()


def deref(root: dict[str, Any], node: Any, place: str = "") -> Any:
    """Return what a node's `$ref`s lead to; a summary and a description beside a `$ref` win over those at its end."""
    seen: set[str] = set()
    beside: dict[str, Any] = {}
    while isinstance(node, dict) and isinstance(node.get("$ref"), str):
        reference = node["$ref"]
        if reference in seen:
            raise refuse(place or reference, f"its $ref leads in a circle: {' -> '.join([*seen, reference])}")
        seen.add(reference)
        beside = {key: node[key] for key in ("summary", "description") if key in node} | beside
        node = resolve(root, reference, place)
    return {**node, **beside} if beside and isinstance(node, dict) else node


def resolve(root: dict[str, Any], reference: str, place: str = "") -> Any:
    """Return the value at a local reference such as `#/components/schemas/File`."""
    node: Any = root
    for key in pointer_keys(reference):
        if isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict) and key in node:
            node = node[key]
        else:
            raise refuse(place or reference, f"{reference} leads nowhere")
    return node


def pointer_keys(reference: str) -> list[str]:
    """Return the keys of a local reference."""
    pointer = unquote(reference.partition("#")[2]).strip("/")
    return [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")] if pointer else []


class _Bundle:
    """A description and the files beside it, each read once."""

    def __init__(self, root: dict[str, Any], folder: Path | None) -> None:
        self._root = root
        self._folder = folder.resolve() if folder else None
        self._files: dict[str, Any] = {}
        self._bytes = 0

    def bundled(self) -> dict[str, Any]:
        self._localize(self._root, "")
        if self._files:
            self._root[FILES] = self._files
        return self._root

    def _localize(self, document: Any, name: str) -> None:
        """Rewrite the references of one file, which are relative to it."""
        for node, place in _references(document):
            file, _, pointer = node["$ref"].partition("#")
            if file:
                node["$ref"] = f"#/{FILES}/{self._load(file, name, place)}/{pointer.strip('/')}".rstrip("/")
            elif name:
                node["$ref"] = f"#/{FILES}/{_escaped(name)}/{pointer.strip('/')}".rstrip("/")

    def _load(self, file: str, beside: str, place: str) -> str:
        """Read a file of the folder; nothing outside of it, and no address."""
        if self._folder is None or urlsplit(file).scheme or file.startswith(("/", "\\")):
            raise refuse(place, f"its $ref leads to {file}, and only files of the description's own folder are read")
        path = (self._folder / Path(beside).parent / unquote(file)).resolve()
        if not path.is_relative_to(self._folder):
            raise refuse(place, f"its $ref leads to {file}, outside of the description's folder")
        name = path.relative_to(self._folder).as_posix()
        if name not in self._files:
            if len(self._files) >= MAX_FILES:
                raise refuse(place, f"it refers to more than {MAX_FILES} files")
            if not path.is_file():
                raise refuse(place, f"its $ref leads to {file}, which is no file")
            self._bytes += path.stat().st_size
            if self._bytes > MAX_DESCRIPTION_BYTES:
                raise refuse(place, f"its files are larger than {MAX_DESCRIPTION_BYTES // 1_000_000} MB together")
            self._files[name] = read(path.read_bytes(), name)
            self._localize(self._files[name], name)
        return _escaped(name)


def _references(document: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each object with a `$ref` and its place; a value that aliases share is visited once."""
    todo: list[tuple[Any, str, int]] = [(document, "#", 0)]
    seen: set[int] = set()
    while todo:
        node, place, depth = todo.pop()
        if not isinstance(node, dict | list) or id(node) in seen:
            continue
        seen.add(id(node))
        if depth > MAX_DEPTH:
            raise refuse(place[:200], f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(node, dict) and isinstance(node.get("$ref"), str):
            yield node, place
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        skipped = () if place.endswith("/properties") else _EXAMPLES
        todo += [(value, f"{place}/{key}", depth + 1) for key, value in pairs if key not in skipped]


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
