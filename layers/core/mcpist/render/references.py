"""References: in place of a URL's beginning the field that it is, and of an object the field that it is already."""

from collections.abc import Mapping
from typing import Any

from mcpist.render.toon_texts import ValueReference, are_same, is_plain_name

MIN_SAVED_CHARACTERS = 6  # by a reference
MIN_FIELDS = 3  # of an object that is worth a reference
MAX_FOLDERS = 16  # of a URL that are compared with other fields

type Fields = Mapping[str, Any]

_CONTAINERS = frozenset({dict, list})
_HOST = len("https://")


def with_references(value: Any) -> Any:
    """Return JSON with references for URLs that begin with another field, and for objects that are another field."""
    return _Scopes().shortened(value, 0, None) if type(value) in _CONTAINERS else value


class _Scopes:
    """The objects around a value."""

    def __init__(self) -> None:
        self._objects: list[tuple[Fields, dict[Any, str]]] = []
        """Each with the names of its fields by their URL, or by what tells objects apart."""
        self._seen: set[Any] = set()

    def shortened(self, value: Any, depth: int, key: Any) -> Any:
        """Return an object or a list with references in it; the first `depth` objects around it may have its key."""
        if type(value) is dict:
            found = self._find(key, depth) if key and key in self._seen else None
            # Objects with the same key can still differ.
            is_same = found is not None and are_same(found[1], value)
            return ValueReference(f"{{{found[0]}}}", value) if found and is_same else self._shortened_object(value)
        depth = len(self._objects)
        return [self.shortened(one, depth, _key(one)) if type(one) in _CONTAINERS else one for one in value]

    def _shortened_object(self, fields: Fields) -> Fields:
        some = []
        for name, value in fields.items():
            kind = type(value)
            if kind is str:
                if value.startswith("http"):
                    some.append((name, value, value))
            elif kind in _CONTAINERS:
                some.append((name, value, _key(value)))
        if not some:
            return fields
        names = {key: name for name, _, key in reversed(some) if key}
        self._seen.update(names)
        depth, shortened = len(self._objects), dict(fields)
        self._objects.append((fields, names))
        for name, value, key in some:
            shortened[name] = self._find_beginning(value, depth) if key is value else self.shortened(value, depth, key)
        self._objects.pop()
        return shortened

    def _find_beginning(self, url: str, depth: int) -> ValueReference | str:
        """Return a reference to the longest beginning of a URL before a slash, or to the same one further outside."""
        seen, beginning, end = self._seen, url, len(url)
        for _ in range(MAX_FOLDERS):
            if beginning in seen and (found := self._find(beginning, depth + (beginning is not url))):
                name = found[0]
                if end >= len(name) + MIN_SAVED_CHARACTERS:
                    return ValueReference(f"{{{name}}}{url[end:]}", url)
            end = url.rfind("/", _HOST, end)
            if end < 0:
                break
            beginning = url[:end]
        return url

    def _find(self, key: Any, depth: int) -> tuple[str, Any] | None:
        """Return the name and the value of the nearest field with a key, among the first `depth` objects around."""
        for at in range(depth - 1, -1, -1):
            fields, names = self._objects[at]
            if key in names and self._means(names[key], at + 1):
                return names[key], fields[names[key]]
        return None

    def _means(self, name: str, depth: int) -> bool:
        """Whether a reference can have a name, and no object after the first `depth` has a field of it."""
        if depth < len(self._objects) and any(name in fields for fields, _ in self._objects[depth:]):
            return False
        return is_plain_name(name)


def _key(value: Any) -> Any:
    """Return a key that tells objects apart; None for a list, and an object that has others in it or few fields."""
    if type(value) is list or len(value) < MIN_FIELDS or not _CONTAINERS.isdisjoint(map(type, value.values())):
        return None
    return len(value), next(iter(value.values()))
