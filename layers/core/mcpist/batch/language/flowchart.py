"""A batch as a picture: a Mermaid flowchart, which Markdown viewers draw.

Reference: https://mermaid.js.org/syntax/flowchart.html
"""

import re
from collections.abc import Sequence

from mcpist.batch.language.graph import Graph, Steps

# Inside of a word, a line below or in the middle means nothing to Markdown.
_SPECIAL = re.compile(r"[^\w-]|(?<![^\W_])[_-]|[_-](?![^\W_])")


def mermaid_flowchart(ids: Sequence[str], needs: Sequence[Steps], map_steps: Steps = frozenset()) -> str:
    """Draw what waits for what; steps with `each` have double sides, and needs that others imply are left out."""
    boxes = [_box(index, name, is_map=index in map_steps) for index, name in enumerate(ids)]
    reduced = Graph(tuple(needs)).reduced.needs
    arrows = [f"  s{need} --> s{index}" for index, wanted in enumerate(reduced) for need in sorted(wanted)]
    return "\n".join(["flowchart LR", *boxes, *arrows])


def _box(index: int, name: str, *, is_map: bool) -> str:
    return f'  s{index}[["{_escaped(name)}"]]' if is_map else f'  s{index}["{_escaped(name)}"]'


def _escaped(name: str) -> str:
    """A name as text alone: all that could be Mermaid, Markdown or HTML stands as the number of its character."""
    return _SPECIAL.sub(lambda found: f"#{ord(found[0])};", name)
