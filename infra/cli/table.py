"""Tables as plain text, for a terminal."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len

from mcpist.visible_text import visible


def render_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Render a table with columns as wide as their widest cell; a cell can neither add a line nor steer a terminal."""
    lines = [[visible(cell) for cell in line] for line in (head, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell + " " * (width - cell_len(cell)) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
