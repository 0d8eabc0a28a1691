"""The columns that references name, checked before anything runs."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mcpist.batch.language.references import Key, Reference, unresolved_error, without_result
from mcpist.render.shows import Shows, path_keys
from mcpist.suggestions import nearest, resembling

_MAP_RESULT_KEYS = ("items", "raw", "file", "elements", "*")


@dataclass(frozen=True, slots=True)
class Source:
    """The step that a reference names, as far as it is known before it runs."""

    shows: Shows
    is_list: bool = False
    """Whether its tool answers with a list."""
    is_map: bool = False
    """Whether it has `each`, so that its JSON is a list of results."""
    related: Callable[[], Iterable[Shows]] = tuple
    """Returns what other tools of the same module show: where they find a field, its JSON may have it too."""


def check_reference(reference: Reference, source: Source) -> None:
    """Refuse a column that the step's tool does not show."""
    keys = without_result(reference.keys)
    first = keys[0] if keys else 0
    if first == "items":
        _check_column(reference, source, keys[1:], lambda path: f"{reference.step}.raw{path}")
    elif source.is_map and isinstance(first, str) and first not in _MAP_RESULT_KEYS:
        known = f"Write {reference.step}.items, {reference.step}.raw[0].{first} or {reference.step}.elements[0].status."
        raise unresolved_error(reference, f"{reference.step} runs for each element, so its JSON is a list", known)


def check_element(reference: Reference, source: Source, step: str) -> None:
    """Refuse `${each.column}` over the rows of `step` whose tool shows no such column."""
    element = Reference(reference.text, reference.field, step, reference.keys)
    _check_column(element, source, ("*", *reference.keys), lambda path: f"{step}.raw{path}")


def _check_column(reference: Reference, source: Source, keys: tuple[Key, ...], in_json: Callable[[str], str]) -> None:
    columns = [key for key in keys if isinstance(key, str) and key != "*"]
    shows = source.shows
    if columns and not shows.has_column(columns[0]):
        problem = f"{reference.step} shows no column {columns[0]}"
        known = f"Columns: {nearest(columns[0], shows.fields)}."
        path = _path_of(columns[0], source)
        if path or not resembling(columns[0], shows.fields):
            known += f" In its JSON perhaps: {in_json(_place(source, keys[0]) + (path or f'.{columns[0]}'))}."
        raise unresolved_error(reference, problem, known)
    if columns and keys[0] == columns[0]:
        raise unresolved_error(reference, "items is a list", f"Write {reference.step}.items[0].{columns[0]}.")


def _place(source: Source, index: Key) -> str:
    """Return the place of a row in the JSON of a step."""
    position = f"[{index}]" if index == "*" or isinstance(index, int) else "[0]"
    rows = f".{source.shows.rows}" if source.shows.rows else ""
    return f"{'[0]' if source.is_map else ''}{rows}{position if source.is_list else ''}"


def _path_of(column: str, source: Source) -> str:
    """Return the path of a field that is no column, by a column that shows it; empty where none does."""
    related = [source.shows, *source.related()]
    columns = [column for shows in related for column in shows.columns]
    named = (one.paths[0] for one in columns if one.name == column)
    begun = (path for one in columns for path in one.paths if next(path_keys(path), "") == column)
    path = next((path for path in (*named, *begun) if "[" not in path), "")
    return f".{path}" if path else ""
