"""Tokens of the catalogue and of its answers, counted by a tokenizer from npm."""

from collections.abc import Iterator
from statistics import geometric_mean
from typing import Any

import pytest

from benchmarks.report import Row
from mcp_endpoint.meta_tools.declaration import declare
from mcp_endpoint.meta_tools.schemas import describe_modules
from mcpist.caller import Caller, Role, Subject
from mcpist.markdown.writer import write
from mcpist.render.answer import compact, compact_json
from mcpist.render.shows import project
from mcpist.tools.access.permissions import Permissions
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.notion.block_reading import tree_of
from tests.peers.tokens import o200k
from tests.services.answers.notion import SMALL_PAGE
from tests.services.contracts import CONTRACTED, SPECS, Vendor


def rows() -> Iterator[Row]:
    """Measure each; without Node or the vendors' descriptions, a row says so."""
    for measure in (schema_tokens, answer_tokens, document_tokens):
        try:
            yield from measure()
        except pytest.skip.Exception as absent:
            yield (measure.__doc__ or "").partition(".")[0], f"not measured: {absent}", ""


def schema_tokens() -> Iterator[Row]:
    """Tokens of the catalogue's schemas."""
    everything = Role("everything", modules=NAMES, allow=("*",), destructive=True)
    caller = Caller("demo", "uma", Subject("bench", "uma"), "user", (everything,))
    permissions = Permissions(caller, CATALOGUE)
    tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in declare(permissions)]
    full = [compact_json(module) for module in describe_modules(permissions, NAMES, full=True)]
    lines = [compact_json(module) for module in describe_modules(permissions, NAMES)]
    count = len(CATALOGUE.index.tools)
    whole, signatures, meta = o200k("\n".join(full), "\n".join(lines), compact_json(tools))
    yield f"tokens (o200k) of the full schemas of all {count} tools", f"{whole:,}", ""
    yield "tokens of their signatures, with resources and prompts", f"{signatures:,} ({signatures / whole:.2f})", ""
    yield "tokens of the three meta-tools as a client sees them, all modules", f"{meta:,}", "900"


def answer_tokens() -> Iterator[Row]:
    """Tokens of the compact answers to the vendors' own examples, against their minified JSON."""
    ratios = {name: ours / theirs for name, (ours, theirs) in _answers().items()}
    worst = max(ratios, key=ratios.__getitem__)
    what = f"tokens of the compact answers of {len(ratios)} tools, against the vendors' minified JSON"
    yield f"{what}: geometric mean", f"{geometric_mean(ratios.values()):.2f}", "0.20"
    yield f"{what}: the worst, `{worst}`", f"{ratios[worst]:.2f}", "1"


def document_tokens() -> Iterator[Row]:
    """Characters of a document as Markdown, and tokens of a flat list as a table."""
    size = len(compact_json(SMALL_PAGE))
    ratio = len(write(tree_of(SMALL_PAGE))) / size
    yield f"characters of a Notion page as Markdown, against its {size:,} characters of JSON", f"{ratio:.2f}", "0.1"
    github = CATALOGUE.module("github").tools
    files = [{"filename": f"src/{n}.py", "status": "modified", "additions": n, "deletions": 2 * n} for n in range(50)]
    for what, tool, items, most in (
        ("changed files", github["list_pull_files"], files, "0.6"),
        ("issues with long titles", github["list_issues"], [_issue(number) for number in range(1, 51)], ""),
    ):
        ours, plain = o200k(compact(items, tool.shows), compact_json(project(items, tool.shows)))
        yield f"tokens of fifty {what} as a table, against the same rows as minified JSON", f"{ours / plain:.2f}", most


def _answers() -> dict[str, tuple[int, int]]:
    """Return each tool's tokens of the compact answer and of the minified JSON, for the vendors' examples."""
    if not SPECS.exists():
        pytest.skip(f"the vendors' API descriptions are not in {SPECS}")
    names, texts = [], []
    for name in CONTRACTED:
        vendor = Vendor(name)
        for tool in vendor.module.tools.values():
            raw = vendor.perform(tool, tool.examples[0]["parameters"])
            names.append(f"{name}.{tool.name}")
            texts += [compact(raw, tool.shows), compact_json(raw)]
    tokens = o200k(*texts)
    return dict(zip(names, zip(tokens[::2], tokens[1::2], strict=True), strict=True))


def _issue(number: int) -> dict[str, Any]:
    """Return the part of a GitHub issue that a list shows."""
    return {
        "number": number,
        "title": f"The export of report {number} stops without a message",
        "state": "open" if number % 3 else "closed",
        "user": {"login": f"user{number % 7}"},
        "labels": [{"name": "bug"}, {"name": "export"}],
        "updated_at": f"2026-10-{number % 28 + 1:02}T09:00:00Z",
    }
