"""The difference of two texts, with a bound on the work."""

from collections import Counter
from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

# difflib compares every changed line of one text with every one of the other, in the worst case.
MAX_COMPARED_PAIRS = 4_000_000
MAX_DIFF_CHARACTERS = 40_000


def compare(old: str, new: str, context: int) -> dict[str, Any]:
    """Return the lines that two texts do not share: as a unified diff, of very different large texts without order."""
    olds, news = old.splitlines(), new.splitlines()
    begin = _shared(olds, news)
    end = _shared(olds[begin:][::-1], news[begin:][::-1])
    if (len(olds) - begin - end) * (len(news) - begin - end) > MAX_COMPARED_PAIRS:
        removed, added = Counter(olds) - Counter(news), Counter(news) - Counter(olds)
        lines = [*(f"-{line}" for line in removed.elements()), *(f"+{line}" for line in added.elements())]
        return _difference(lines, sum(removed.values()), sum(added.values()))
    first = max(0, begin - context)
    old_part, new_part = (texts[first : len(texts) - max(0, end - context)] for texts in (olds, news))
    lines = [_moved(line, first) for line in unified_diff(old_part, new_part, "a", "b", n=context, lineterm="")]
    changes = Counter(line[:1] for line in lines[2:])
    return _difference(lines, changes["-"], changes["+"])


def _difference(lines: Sequence[str], removed: int, added: int) -> dict[str, Any]:
    text = "\n".join(lines)
    cut = text[:MAX_DIFF_CHARACTERS].rpartition("\n")[0] + "\n…" if len(text) > MAX_DIFF_CHARACTERS else text
    return {"same": not lines, "removed": removed, "added": added, "diff": cut}


def _shared(olds: Sequence[str], news: Sequence[str]) -> int:
    """Return how many lines two texts share at their beginning."""
    pairs = enumerate(zip(olds, news, strict=False))
    return next((place for place, (old, new) in pairs if old != new), min(len(olds), len(news)))


def _moved(line: str, lines: int) -> str:
    """Return a line of a diff with the line numbers of the whole texts."""
    if not lines or not line.startswith("@@"):
        return line
    _, old, new, mark = line.split(" ")
    return f"@@ {_moved_range(old, lines)} {_moved_range(new, lines)} {mark}"


def _moved_range(text: str, lines: int) -> str:
    first, comma, length = text[1:].partition(",")
    return f"{text[0]}{int(first) + lines}{comma}{length}"
