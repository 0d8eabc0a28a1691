"""The paths of operations: the parameters in them, and the collections that they lead to."""

import re

_PARAMETER = re.compile(r"{\+?([^{}]*)}")
_SUFFIX = re.compile(r"\.(json|xml)$")


def plain_path(path: str) -> str:
    """Return a path without what distinguishes operations of one address, and without a format at its end."""
    return _SUFFIX.sub("", path.partition("#")[0].rstrip("/"))


def path_parameters(path: str) -> list[str]:
    """Return the names of the parameters in a path or in a part of one."""
    return _PARAMETER.findall(path.partition("#")[0])


def skeleton(path: str) -> str:
    """Return a path without the names of its parameters, by which two descriptions of one place may differ."""
    return _PARAMETER.sub("{}", path)


def split(path: str) -> tuple[str, str]:
    """Return the path of a collection, and the parameter of one of its items; empty where it has none."""
    path = plain_path(path)
    collection, _, last = path.rpartition("/")
    found = _PARAMETER.fullmatch(last)
    return (collection, found[1]) if found else (path, "")
