"""The references of an OpenAPI document: to other places of it or to files of its own folder, never in a circle."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mcpist.errors import InvalidRequest
from mcpist_services.definitions import parse_values, refuse

MAX_API_BYTES = 16_000_000  # GitHub's whole description is 12 MB
MAX_API_VALUES = 2_000_000
MAX_SOURCE_BYTES = 64_000_000
"""The limit of a file from which only some operations are imported: Microsoft Graph's has 37 MB."""
MAX_API_DEPTH = 100
BUNDLED_FILES = "x-mcpist-files"  # where a bundled description keeps the other files
MAX_BUNDLED_FILES = 5_000
MAX_REFERENCE_CHAIN = 50  # references that lead to a reference
METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")

type Chooser = Callable[[str, str, Mapping[str, Any]], bool]
"""Whether an operation is wanted, by its path, its method and what is stated of it."""

_EXAMPLES = ("example", "examples")  # what an example holds is no reference of the description
_MAPS = ("properties", "patternProperties", "schemas", "definitions", "$defs", "headers", "parameters", "responses")
_BY_REFERENCE = ("components", "definitions", "parameters", "responses")  # what only references lead to


def read_document(content: bytes, name: str = "description", *, max_bytes: int = MAX_API_BYTES) -> Any:
    """Return the values of a vendor's file; of two equal keys the last counts, as its other readers have it."""
    if len(content) > max_bytes:
        raise refuse(name, f"it is larger than {max_bytes // 1_000_000} MB")
    max_values = MAX_API_VALUES * max_bytes // MAX_API_BYTES
    return parse_values(content, name, max_values=max_values, unique_keys=False)


@contextmanager
def well_formed(place: str) -> Iterator[None]:
    """Refuse a part of a description in which something has another type than OpenAPI says."""
    try:
        yield
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
        raise refuse(place, "something in it has another type than OpenAPI says") from None


def bundle(root: dict[str, Any], folder: Path | None, is_chosen: Chooser | None = None) -> int:
    """Put the files that a description's operations refer to inside it, so that every `$ref` of them is local.

    With `is_chosen`, operations for which it is false are left out first. Return how many values the others lead to.
    """
    made = _Bundle(root, folder)
    if is_chosen:
        made.choose(is_chosen)
    return made.bundled()


def is_chosen(globs: Collection[str], *texts: str) -> bool:
    """Whether one of the globs fits one of an operation's texts; without any glob all operations are chosen."""
    return not globs or any(fnmatchcase(text, glob) for glob in globs for text in texts)


def chooser(globs: Collection[str]) -> Chooser:
    """Return the choice of the operations that fit one of some globs."""

    def chooses(path: str, method: str, stated: Mapping[str, Any]) -> bool:
        tags = stated.get("tags")
        texts = [stated.get("operationId"), *(tags if isinstance(tags, list) else ())]
        return is_chosen(globs, f"{method.upper()} {path}", path, *map(str, texts))

    return chooses


def deref(root: dict[str, Any], node: Any, place: str = "") -> Any:
    """Return the node at the end of a node's `$ref`s; a summary and a description beside a `$ref` win."""
    if not isinstance(node, dict) or "$ref" not in node:  # most of the hundreds of thousands in a large schema
        return node
    seen: set[str] = set()
    beside: dict[str, Any] = {}
    while isinstance(node, dict) and isinstance(node.get("$ref"), str):
        reference = node["$ref"]
        if reference in seen:
            raise refuse(place or reference, f"its $ref leads in a circle: {' -> '.join([*seen, reference])}")
        if len(seen) == MAX_REFERENCE_CHAIN:
            raise refuse(place or reference, f"its $ref leads through more than {MAX_REFERENCE_CHAIN} others")
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
    """A description and the files beside it, each read once; what no chosen operation leads to does not count."""

    def __init__(self, root: dict[str, Any], folder: Path | None) -> None:
        self._root = root
        self._folder = folder.resolve() if folder else None
        self._files: dict[str, Any] = {}
        self._sizes = {"": 0}
        self._steps: dict[int, tuple[Any, Any, str]] = {}
        """By a reference's identity: itself, what it leads to, and the file of that."""
        self._seen: set[int] = set()
        self._used: set[str] = set()
        root[BUNDLED_FILES] = self._files

    def choose(self, is_chosen: Chooser) -> None:
        """Drop the operations that are not chosen; those in files of their own are read for their ids and tags."""
        paths = self._root.get("paths")
        if not isinstance(paths, dict):
            return
        for path, stated in list(paths.items()):
            item, file = self._target(stated, "", f"#/paths/{path}")
            chosen: dict[str, Any] = {}
            paths[path] = chosen
            for key, value in item.items() if isinstance(item, dict) else ():
                found, own = self._target(value, file, f"#/paths/{path}/{key}") if key in METHODS else (value, file)
                if key not in METHODS or (isinstance(found, dict) and is_chosen(path, key, found)):
                    chosen[key] = found
                    self._localize(found, f"#/paths/{path}/{key}", own)

    def bundled(self) -> int:
        """Rewrite the references of all that operations lead to, and read the files that these name."""
        start = {key: value for key, value in self._root.items() if key != BUNDLED_FILES and key not in _BY_REFERENCE}
        components = self._root.get("components")
        if isinstance(components, dict):
            start["components"] = {"securitySchemes": components.get("securitySchemes")}
        self._localize(start, "#", "")
        if sum(self._sizes[name] for name in self._used) > MAX_API_BYTES or len(self._seen) > MAX_API_VALUES:
            problem = f"what its operations lead to is larger than {MAX_API_BYTES // 1_000_000} MB"
            raise refuse("#/paths", f"{problem}: choose some operations")
        if not self._files:
            del self._root[BUNDLED_FILES]
        return len(self._seen)

    def _localize(self, node: Any, place: str, file: str) -> None:
        """Rewrite the references from a part of a file on, which are relative to the file that each is in."""
        todo: list[tuple[Any, str, int, str]] = [(node, place, 0, file)]
        while todo:
            node, place, depth, file = todo.pop()
            if not isinstance(node, dict | list) or id(node) in self._seen:  # a reference may lead to a text
                continue
            self._seen.add(id(node))
            self._used.add(file)
            if depth > MAX_API_DEPTH:
                raise refuse(place[:200], f"it is nested more than {MAX_API_DEPTH} deep")
            if isinstance(node, dict) and isinstance(node.get("$ref"), str):
                target, beside = self._step(node, file, place)
                todo.append((target, node["$ref"], 0, beside))
            pairs = node.items() if isinstance(node, dict) else enumerate(node)
            is_map = place.rpartition("/")[2] in _MAPS
            todo += [
                (one, f"{place}/{key}", depth + 1, file)
                for key, one in pairs
                if isinstance(one, dict | list) and (is_map or not _is_aside(key))
            ]

    def _target(self, node: Any, file: str, place: str) -> tuple[Any, str]:
        """Return the node at the end of a node's references, and its file."""
        for _ in range(MAX_REFERENCE_CHAIN):
            if not isinstance(node, dict) or not isinstance(node.get("$ref"), str):
                return node, file
            node, file = self._step(node, file, place)
        raise refuse(place, f"its $ref leads through more than {MAX_REFERENCE_CHAIN} others")

    def _step(self, node: dict[str, Any], file: str, place: str) -> tuple[Any, str]:
        """Rewrite one reference; return its target, None where it leads nowhere, and the target's file."""
        if id(node) not in self._steps:
            name, _, pointer = node["$ref"].partition("#")
            inside = self._load(name, file, place) if name else file
            if inside:
                node["$ref"] = f"#/{BUNDLED_FILES}/{_escaped(inside)}/{pointer.strip('/')}".rstrip("/")
            try:
                target = resolve(self._root, node["$ref"], place)
            except InvalidRequest:  # whoever needs it refuses it
                target = None
            self._steps[id(node)] = node, target, inside
        _, target, inside = self._steps[id(node)]
        return target, inside

    def _load(self, file: str, beside: str, place: str) -> str:
        """Read a file of the folder; nothing outside of it, and no address."""
        if self._folder is None or urlsplit(file).scheme or file.startswith(("/", "\\")):
            raise refuse(place, f"its $ref leads to {file}, and only files of the description's own folder are read")
        path = (self._folder / Path(beside).parent / unquote(file)).resolve()
        if not path.is_relative_to(self._folder):
            raise refuse(place, f"its $ref leads to {file}, outside of the description's folder")
        name = path.relative_to(self._folder).as_posix()
        if name not in self._files:
            if len(self._files) >= MAX_BUNDLED_FILES:
                raise refuse(place, f"it refers to more than {MAX_BUNDLED_FILES:,} files")
            if not path.is_file():
                raise refuse(place, f"its $ref leads to {file}, which is no file")
            self._sizes[name] = path.stat().st_size
            if sum(self._sizes.values()) > MAX_SOURCE_BYTES:
                raise refuse(place, f"its files are larger than {MAX_SOURCE_BYTES // 1_000_000} MB together")
            self._files[name] = read_document(path.read_bytes(), name)
        return name


def _is_aside(key: Any) -> bool:
    """Whether a key of a description holds examples, or what vendors add to it, such as code samples."""
    return key in _EXAMPLES or (isinstance(key, str) and key.startswith("x-"))


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
