"""The tools of modules, as text for a terminal."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from infra.cli.table import render_table
from mcpist.visible_text import visible


def draw_schema(answer: Any) -> str:
    """Return the answer of `get_module_schema`: a table of modules, or the tools of some, or those found for a task."""
    if not isinstance(answer, dict) or "modules" not in answer:
        return visible(json.dumps(answer, ensure_ascii=False, indent=2), lines=True)
    modules: list[dict[str, Any]] = answer["modules"]
    if not any(isinstance(one.get("tools"), list) or "error" in one for one in modules):
        rows = [(one["module"], str(one.get("tools", "")), one["description"]) for one in modules]
        return render_table(("module", "tools", "what it has"), rows)
    return "\n\n".join("\n".join(_lines(one)) for one in modules)


def _lines(module: Mapping[str, Any]) -> Iterator[str]:
    if error := module.get("error"):
        yield visible(f"{module['module']}: {error['code']} {error['message']} {error['hint']}")
        return
    yield visible(f"{module['module']}: {module.get('description', '')}")
    for kind in ("tools", "resources", "prompts"):
        if module.get(kind):
            yield from ["", f"{kind}:"] if kind != "tools" else []
            yield from (f"  {line}" for line in _entries(module[kind]))
    if marks := module.get("marks"):
        yield from ["", visible(marks)]
    if formats := module.get("formats"):
        yield from ["", "formats:", *(visible(f"  {name}: {form}") for name, form in formats.items())]


def _entries(entries: Iterable[Any]) -> Iterator[str]:
    """Yield a line for each signature, and the JSON of a full schema."""
    for one in entries:
        text = one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, indent=2)
        yield from visible(text, lines=True).splitlines()
