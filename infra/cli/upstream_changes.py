"""The changes of an upstream tool's text since its approval, as lines for the person who approves it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from infra.cli.upstream_listings import ToolRow
from mcpist_services.upstream.approved_texts import TextLine, changes

_MARKS = {"added": "+ ", "removed": "- ", "same": "  "}

type FindTexts = Callable[[str, Sequence[str]], Mapping[str, str]]
"""Returns the approved texts of tools of a server, by their names; older approvals have none."""


def changed_lines(rows: Iterable[ToolRow], find_texts: FindTexts) -> dict[tuple[str, str], list[str]]:
    """Return the lines of each changed tool, by its server and name; each server's texts are read once."""
    changed = [row for row in rows if row.state == "changed"]
    found: dict[tuple[str, str], list[str]] = {}
    for server in dict.fromkeys(row.chosen.server for row in changed):
        own = [row for row in changed if row.chosen.server == server]
        texts = find_texts(server, [row.pin.tool for row in own])
        for row in own:
            if row.pin.tool in texts:
                found[server, row.pin.tool] = list(map(_line, changes(texts[row.pin.tool], row.pin.text)))
    return found


def _line(line: TextLine) -> str:
    return f"… {line.text} lines" if line.kind == "skipped" else f"{_MARKS[line.kind]}{line.text}"
