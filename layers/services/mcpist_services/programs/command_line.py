"""Command lines: from a tool's arguments to the words of its program, as the binding of CWL v1.2 says.

Words are sorted by their positions. A text, a number or a file is one word after its prefix; true is its prefix alone;
null and false are nothing; a list is one word where it has a separator, else a word for each item.

CWL is silent about a value that the program would take for an option. Without a prefix, it is refused here, unless a
word `--` comes before it.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from mcpist.errors import InvalidRequest
from mcpist_services.programs.declaration import Binding, ItemBinding, ToolDeclaration

MAX_WORD_BYTES = 100_000  # Linux takes 128 KiB
MAX_COMMAND_BYTES = 1_000_000
END_OF_OPTIONS = "--"


def command_line(tool: ToolDeclaration, arguments: Mapping[str, Any]) -> list[str]:
    """Return the words after the program; a file among the arguments is its path in the run's folder.

    InvalidRequest for a value that cannot be a word, or that the program would take for an option.
    """
    words: list[str] = []
    guarded = True
    for word in sorted(tool.argv[1:], key=lambda word: 0 if isinstance(word, str) else word.position):
        if isinstance(word, str):
            words.append(word)
            guarded = guarded and word != END_OF_OPTIONS
            continue
        for field, text in _bind(word, arguments.get(word.input), guarded=guarded):
            _check_word(text, field)
            words.append(text)
    if sum(len(text.encode()) for text in words) > MAX_COMMAND_BYTES:
        raise InvalidRequest(field="params", problem=f"the command line is longer than {MAX_COMMAND_BYTES:,} bytes")
    return words


def _bind(binding: Binding, value: Any, *, guarded: bool) -> Iterator[tuple[str, str]]:
    """Yield the words of an input, each with the field that it is from.

    `guarded` says that a positional value could be taken for an option.
    """
    name = binding.input
    if not isinstance(value, list):
        yield from ((name, text) for text in _bind_value(binding, value, name, guarded=guarded))
    elif value and binding.item_separator is not None:
        joined = binding.item_separator.join(map(_text, value))
        yield from ((name, text) for text in _bind_value(binding, joined, name, guarded=guarded))
    elif value:
        if binding.prefix:
            yield name, binding.prefix
        for index, item in enumerate(value):
            field = f"{name}.{index}"
            words = _bind_value(binding.items or ItemBinding(), item, field, guarded=guarded)
            yield from ((field, text) for text in words)


def _bind_value(binding: Binding | ItemBinding, value: Any, field: str, *, guarded: bool) -> Iterator[str]:
    """Yield the words of a value that is no list."""
    if value is None or value is False:
        return
    text = _text(value)
    if value is True:
        yield from [binding.prefix] if binding.prefix else []
    elif not binding.prefix:
        if guarded and text.startswith("-"):
            problem = "it begins with -, so the program would take it for an option"
            raise InvalidRequest(field=f"params.{field}", problem=problem)
        yield text
    elif binding.separate:
        yield from (binding.prefix, text)
    else:
        yield f"{binding.prefix}{text}"


def _text(value: Any) -> str:
    """Return a value as a word: numbers in decimal notation, as CWL says."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value)


def _check_word(text: str, name: str) -> None:
    field = f"params.{name}"
    if "\0" in text:
        raise InvalidRequest(field=field, problem="it contains NUL")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest(field=field, problem="it is not valid Unicode") from None
    if size > MAX_WORD_BYTES:
        raise InvalidRequest(field=field, problem=f"it is longer than {MAX_WORD_BYTES:,} bytes: hand it over as a file")
