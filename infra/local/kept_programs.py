"""Programs of state machines, kept by the definition's text, and their paths.

moto parses a definition when its machine is created and at each start of an execution, at seconds of CPU for a large
one, and a path each time a state reads it. Both are the same for all executions: what belongs to one is in moto's
`Environment`.
"""

from collections import OrderedDict
from functools import lru_cache
from threading import Lock
from typing import Any

from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.asl.utils import json_path

MAX_PROGRAMS, MAX_PATHS = 16, 4_096

_parse = AmazonStateLanguageParser.parse
_paths: Any = json_path  # it does not export the name that is replaced
_parse_path = _paths.parse


class KeptPrograms:
    """The programs of the definitions that were parsed last, with their trees."""

    def __init__(self, max_programs: int = MAX_PROGRAMS) -> None:
        self._max_programs = max_programs
        self._parsed: OrderedDict[str, tuple[Any, Any]] = OrderedDict()
        self._lock = Lock()

    def parse(self, definition: str) -> tuple[Any, Any]:
        """Return the program and the tree of a definition, as moto's parser does, and raise its errors."""
        with self._lock:
            parsed = self._parsed.get(definition)
            if parsed is not None:
                self._parsed.move_to_end(definition)
                return parsed
        parsed = _parse(definition)
        with self._lock:
            self._parsed[definition] = parsed
            while len(self._parsed) > self._max_programs:
                self._parsed.popitem(last=False)
        return parsed


def install() -> None:
    """Let moto keep programs and paths, in this process."""
    _paths.parse = lru_cache(MAX_PATHS)(_parse_path)
    AmazonStateLanguageParser.parse = KeptPrograms().parse  # type: ignore[method-assign]
