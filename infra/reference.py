"""`make docs`: the pages of `docs/tools/`, written from the catalogue."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mcpist.tools.module import Module
from mcpist.tools.tool import PAGING_PARAMETERS, Tool
from mcpist_modules import CATALOGUE, NAMES

FOLDER = Path(__file__).resolve().parents[1] / "docs/tools"
EFFECTS = {"reads": "", "writes": " (writes)", "destroys": " (destroys)"}
WORDS = ("enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "default")


def main() -> None:
    """Write every page anew and remove those of modules that are gone."""
    FOLDER.mkdir(exist_ok=True)
    wanted = pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in wanted:
            path.unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, "utf-8")


def pages() -> dict[str, str]:
    """The text of each page by its file's name."""
    modules = [CATALOGUE.module(name) for name in NAMES]
    return {"README.md": overview(modules)} | {f"{module.name}.md": page(module) for module in modules}


def overview(modules: list[Module]) -> str:
    """The page that leads to the others."""
    count = sum(len(module.tools) for module in modules)
    rows = [f"| [{module.name}]({module.name}.md) | {len(module.tools)} | {module.description} |" for module in modules]
    return _text(
        "Tools",
        ["tools"],
        f"{count} tools in {len(modules)} modules. These pages are written from the code by `make docs`.",
        "",
        "| module | tools | what it has |",
        "| --- | --- | --- |",
        *rows,
    )


def page(module: Module) -> str:
    """A module's page: its tools, resources and prompts."""
    lines = [module.description, "", f"API version {module.api_version}."]
    if any(tool.paging for tool in module.tools.values()):
        lines += [
            "",
            "Lists (`...paging`) also take `limit` (50 if left out, at most 500), `fetch_all`, `cursor` (where a cut",
            "list ended) and `page_size`.",
        ]
    for tool in module.tools.values():
        lines += ["", *_tool(tool)]
    if module.resources:
        lines += ["", "## Resources", ""]
        lines += [f"- `{one.template}`: {one.description}" for one in module.resources.values()]
    if module.prompts:
        lines += ["", "## Prompts", ""]
        lines += [
            f"- `{name}({', '.join(one.input_schema['properties'])})`: {one.description}"
            for name, one in module.prompts.items()
        ]
    return _text(f"Tools: {module.name}", ["tools", module.name], *lines)


def _tool(tool: Tool) -> Iterator[str]:
    yield f"## {tool.name}{EFFECTS[tool.effect]}"
    yield ""
    yield tool.description
    yield ""
    yield f"    {tool.signature}"
    yield ""
    required = tool.input_schema.get("required", [])
    own = {
        name: spec
        for name, spec in tool.input_schema["properties"].items()
        if not tool.paging or name not in PAGING_PARAMETERS
    }
    yield from (f"- `{name}`{'' if name in required else ' (optional)'}{_spec(spec)}" for name, spec in own.items())
    yield from [""] if own else []
    yield from (f"Example: `{json.dumps(one['parameters'], ensure_ascii=False)}`" for one in tool.examples)
    if tool.operation:
        yield ""
        yield f"The service's operation: `{tool.operation}`."
    if tool.reveals:
        yield ""
        yield "It reveals secrets: off until a role allows it by name."


def _spec(spec: dict[str, Any]) -> str:
    """`: what it is. Bounds.`, as far as something is to be said."""
    inner = spec.get("items", {}) if spec.get("type") == "array" else spec
    bounds = [f"{word} `{json.dumps(inner[word], ensure_ascii=False)}`" for word in WORDS if word in inner]
    said = [part for part in (spec.get("description", "").rstrip("."), ", ".join(bounds)) if part]
    return f": {'; '.join(said)}" if said else ""


def _text(title: str, tags: list[str], *lines: str) -> str:
    return "\n".join(["---", f'title: "{title}"', f"tags: [{', '.join(tags)}]", "---", f"# {title}", "", *lines, ""])


if __name__ == "__main__":
    main()
