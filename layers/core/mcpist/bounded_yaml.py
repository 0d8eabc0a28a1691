"""YAML from outside: read with limits, and only to values that JSON has.

Scalars are read by the core schema of YAML 1.2, so `yes`, `12:30` and a date are texts. An alias counts as many values
as it stands for, so a short document cannot become a large one.
"""

import re
from functools import cache
from math import isinf
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    import yaml

MAX_YAML_NODES = 1_000_000
MAX_YAML_DEPTH = 100

_MERGE = "tag:yaml.org,2002:merge"
_SCALARS = (
    ("null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("int", r"^(?:[-+]?[0-9]{1,1000}|0o[0-7]{1,1000}|0x[0-9a-fA-F]{1,1000})$", "-+0123456789"),
    ("float", r"^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
    ("merge", r"^(?:<<)$", "<"),
)


def load_yaml(text: str, *, max_nodes: int = MAX_YAML_NODES, max_depth: int = MAX_YAML_DEPTH) -> Any:
    """Return the value of a YAML document; ValueError says the line and what is wrong with it."""
    import yaml

    try:
        _check_depth(text, max_depth)
        loader = _loader()(text)
        try:
            root = loader.get_single_node()
            if root is None:
                return None
            _check_nodes(root, max_nodes, max_depth)
            return _json_value(loader.construct_document(root))
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        place = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise ValueError(f"{place}{error.problem or error.context}") from None
    except yaml.reader.ReaderError as error:
        raise ValueError(f"it has a character that YAML does not allow ({error.reason})") from None


def _check_depth(text: str, max_depth: int) -> None:
    """Refuse deep nesting before anything recurses into it."""
    import yaml

    depth = 0
    for event in yaml.parse(text, Loader=_loader()):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > max_depth:
            raise ValueError(f"line {_line(event)}: it is nested more than {max_depth} levels deep")


def _check_nodes(root: "yaml.Node", max_nodes: int, max_depth: int) -> None:
    """Refuse a document with too many values, its aliases counted as what they stand for, and make its keys texts."""
    sizes: dict[int, tuple[int, int]] = {}

    def size_and_depth(node: Any, inside: frozenset[int]) -> tuple[int, int]:
        if id(node) in inside:
            raise ValueError(f"line {_line(node)}: its value contains itself")
        if id(node) not in sizes:
            children = [size_and_depth(child, inside | {id(node)}) for child in _children(node)]
            size, depth = 1 + sum(each[0] for each in children), 1 + max((each[1] for each in children), default=0)
            if size > max_nodes:
                raise ValueError(f"it has more than {max_nodes} values")
            if depth > max_depth + 1:
                raise ValueError(f"line {_line(node)}: its aliases are nested more than {max_depth} levels deep")
            sizes[id(node)] = size, depth
        return sizes[id(node)]

    size_and_depth(root, frozenset())


def _children(node: Any) -> list[Any]:
    """Return the values in a node; the keys of a mapping become texts, as JSON has them."""
    if isinstance(node.value, str):
        return []
    if not isinstance(node.value[:1] and node.value[0], tuple):
        return list(node.value)
    names = [key.value for key, _ in node.value]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError(f"line {_line(node)}: its keys are not different texts")
    for key, _ in node.value:
        if key.tag != _MERGE:
            key.tag = "tag:yaml.org,2002:str"
    return [value for _, value in node.value]


@cache
def _loader() -> type[Any]:
    """Return the loader class, which is made when the first document is read."""
    import yaml

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
        """libyaml's safe loader with the scalars of YAML 1.2."""

        yaml_implicit_resolvers: dict[str, Any] = {}

    for name, pattern, first in _SCALARS:
        characters = [character.replace("\0", "") for character in first]
        Loader.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(pattern), characters)
    for name in ("binary", "set", "timestamp", "omap", "pairs"):
        Loader.add_constructor(f"tag:yaml.org,2002:{name}", _refuse)
    Loader.add_constructor("tag:yaml.org,2002:int", _integer)
    return Loader


def _integer(loader: Any, node: Any) -> int:
    text = loader.construct_scalar(node).lower()
    try:
        return int(text, 0) if text.startswith(("0o", "0x")) else int(text)
    except ValueError:
        _refuse(loader, node)


def _refuse(_: Any, node: Any) -> NoReturn:
    raise ValueError(f"line {_line(node)}: {node.tag.rpartition(':')[2]} has no place in JSON")


def _line(part: Any) -> int:
    """Return the line on which an event or a node begins."""
    return int(part.start_mark.line) + 1


def _json_value(value: Any) -> Any:
    """Return a value without infinite numbers."""
    match value:
        case dict():
            return {name: _json_value(inner) for name, inner in value.items()}
        case list():
            return [_json_value(inner) for inner in value]
        case float() if isinf(value):
            return str(value)
    return value
