"""Draw a batch as a Mermaid flowchart, which Markdown viewers show.

Reference: https://mermaid.js.org/syntax/flowchart.html
"""

import re
from collections.abc import Sequence

from mcpist.batch.language.graph import Graph, Steps

# Inside a word, _ and - mean nothing to Markdown.
_SPECIAL = re.compile(r"[^\w-]|(?<![^\W_])[_-]|[_-](?![^\W_])")


def mermaid_flowchart(ids: Sequence[str], needs: Sequence[Steps], map_steps: Steps = frozenset()) -> str:
    """Draw the needs between steps; steps with `each` have double borders, and implied needs are left out."""
    boxes = [_box(index, name, is_map=index in map_steps) for index, name in enumerate(ids)]
    reduced = Graph(tuple(needs)).reduced.needs
    arrows = [f"  s{need} --> s{index}" for index, needed in enumerate(reduced) for need in sorted(needed)]
    return "\n".join(["flowchart LR", *boxes, *arrows])


def _box(index: int, name: str, *, is_map: bool) -> str:
    return f'  s{index}[["{_escaped(name)}"]]' if is_map else f'  s{index}["{_escaped(name)}"]'


def _escaped(name: str) -> str:
    """Return a name in which characters that mean something to Mermaid, Markdown or HTML are numeric entities."""
    return _SPECIAL.sub(lambda match: f"#{ord(match[0])};", name)
