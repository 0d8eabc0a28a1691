"""What the catalogue costs: tokens of its schemas and answers, and how well and how fast tools are found."""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any

import pytest

from mcpist.render.answer import compact, compact_json
from mcpist.render.project import project
from mcpist.tools.index import Index, ModuleEntry, ToolEntry
from mcpist.tools.search import WordIndex
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE

TASKS = Path(__file__).with_name("tasks.jsonl")
BEST = 5
SYNTHETIC_MODULES, SYNTHETIC_TOOLS = 50, 100  # a module
ROUNDS = 5

type Row = tuple[str, str, str]


def rows() -> Iterator[Row]:
    """Everything that is measured here; what needs node or the vendors' descriptions says so where they are absent."""
    for measure in (schema_tokens, answer_tokens, document_tokens, recall, speed):
        try:
            yield from measure()
        except pytest.skip.Exception as absent:
            yield (measure.__doc__ or "").partition(".")[0], f"not measured: {absent}", ""


def schema_tokens() -> Iterator[Row]:
    """Tokens of the catalogue's schemas."""
    from mcp_endpoint.meta_tools import declare
    from mcp_endpoint.schemas import describe_modules
    from mcpist.caller import Caller, Role, Subject
    from mcpist.tools.permissions import Permissions

    everything = Role("everything", modules=NAMES, allow=("*",), destructive=True)
    caller = Caller("demo", "uma", Subject("bench", "uma"), "user", (everything,))
    permissions = Permissions(caller, CATALOGUE)
    tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in declare(caller)]
    full = [compact_json(module) for module in describe_modules(permissions, NAMES, full=True)]
    lines = [compact_json(module) for module in describe_modules(permissions, NAMES)]
    count = len(CATALOGUE.index.tools)
    whole, signatures, meta = _tokens("\n".join(full), "\n".join(lines), compact_json(tools))
    yield f"tokens (o200k) of the full schemas of all {count} tools", f"{whole:,}", ""
    yield "tokens of their signatures, with resources and prompts", f"{signatures:,} ({signatures / whole:.2f})", ""
    yield "tokens of the three meta-tools as a client sees them, all modules", f"{meta:,}", "900"


def answer_tokens() -> Iterator[Row]:
    """Tokens of the compact answers to the vendors' own examples, against their minified JSON."""
    ratios = {name: ours / theirs for name, (ours, theirs) in _answers().items()}
    worst = max(ratios, key=ratios.__getitem__)
    what = f"tokens of the compact answers of {len(ratios)} tools, against the vendors' minified JSON"
    yield f"{what}: geometric mean", f"{geometric_mean(ratios.values()):.2f}", "0.5"
    yield f"{what}: the worst, `{worst}`", f"{ratios[worst]:.2f}", "1"


def document_tokens() -> Iterator[Row]:
    """Characters of a document as Markdown, and tokens of a flat list as TOON."""
    from mcpist.markdown.writer import write
    from mcpist_services.notion.block_reading import tree_of
    from tests.services.answers.notion import SMALL_PAGE

    size = len(compact_json(SMALL_PAGE))
    ratio = len(write(tree_of(SMALL_PAGE))) / size
    yield f"characters of a Notion page as Markdown, against its {size:,} characters of JSON", f"{ratio:.2f}", "0.1"
    github = CATALOGUE.module("github").tools
    files = [{"filename": f"src/{n}.py", "status": "modified", "additions": n, "deletions": 2 * n} for n in range(50)]
    for what, tool, items, most in (
        ("changed files", github["list_pull_files"], files, "0.6"),
        ("issues with long titles", github["list_issues"], [_issue(number) for number in range(1, 51)], ""),
    ):
        toon, plain = _tokens(compact(items, tool.shows), compact_json(project(items, tool.shows)))
        yield f"tokens of fifty {what} as TOON, against the same rows as minified JSON", f"{toon / plain:.2f}", most


def recall() -> Iterator[Row]:
    """Recall of the search."""
    tools = CATALOGUE.index.tools
    names = [f"{tool.module}.{tool.name}" for tool in tools]
    tasks = [json.loads(line) for line in TASKS.read_text("utf-8").splitlines()]
    found = [
        any(
            names[number] in task["tools"]
            for number in CATALOGUE.index.words.rank(task["task"], range(len(names)), BEST)
        )
        for task in tasks
    ]
    parts: dict[str, list[bool]] = {f"all {len(tasks)} tasks": found}
    for language in ("en", "ja"):
        parts[f"those in {language}"] = [
            hit for hit, task in zip(found, tasks, strict=True) if task["language"] == language
        ]
    parts["every fourth, never looked at while the synonyms were written"] = found[3::4]
    for which, hits in parts.items():
        yield f"recall@{BEST} of the search: {which}", f"{sum(hits) / len(hits):.1%}", "95 % or more"


def speed() -> Iterator[Row]:
    """Speed of the search among many tools."""
    crowd = large_catalogue()
    text = crowd.dump()
    loads = [_milliseconds(lambda: Index.load(text).tools) for _ in range(ROUNDS)]
    index = Index.load(text)
    everything = range(len(index.tools))
    tasks = [json.loads(line)["task"] for line in TASKS.read_text("utf-8").splitlines()]
    index.words.rank(tasks[0], everything)  # imports the stemmer and reads the synonyms
    queries = [_milliseconds(lambda task=task: index.words.rank(task, everything)) for task in tasks]
    count = f"{len(index.tools):,} tools"
    yield (
        f"search among {count}: median (slowest) of {len(tasks)} queries",
        f"{median(queries):.1f} ms ({max(queries):.1f} ms)",
        "5 ms",
    )
    yield f"loading the index of {count}", f"{median(loads):.0f} ms", "50 ms"


def large_catalogue(*more: ModuleEntry) -> Index:
    """The catalogue's index with 5,000 more tools: real ones under other names, with a word changed; then `more`."""
    chance = random.Random(7)  # noqa: S311 - equal in every run
    real = [tool for name in NAMES for tool in CATALOGUE.module(name).tools.values()]
    vocabulary = sorted({word for tool in real for word in tool.description.split()})
    modules = list(CATALOGUE.index.modules.values())
    texts: list[Any] = [tool.words for tool in real]
    for number in range(SYNTHETIC_MODULES):
        name = f"service{number}"
        entries: dict[str, ToolEntry] = {}
        for tool in chance.choices(real, k=SYNTHETIC_TOOLS):
            own = f"{tool.name}_{chance.choice(vocabulary).lower().strip('.,:()')}_{len(entries)}"
            entries[own] = replace(ToolEntry.of(tool), module=name, name=own)
            about = f"{tool.description} {' '.join(chance.choices(vocabulary, k=3))}"
            texts.append({**tool.words, "name": own, "service": name, "description": about})
        modules.append(ModuleEntry(name, "A service.", "1", name, {}, entries))
    return Index([*modules, *more], WordIndex.of(texts))


def _answers() -> dict[str, tuple[int, int]]:
    """For each tool the tokens of its compact answer and of the minified JSON, on the vendors' examples."""
    from tests.services.contracts import CONTRACTED, SPECS, Vendor

    if not SPECS.exists():
        pytest.skip(f"the vendors' API descriptions are not in {SPECS}")
    names, texts = [], []
    for name in CONTRACTED:
        vendor = Vendor(name)
        for tool in vendor.module.tools.values():
            raw = vendor.perform(tool, tool.examples[0]["parameters"])
            names.append(f"{name}.{tool.name}")
            texts += [compact(raw, tool.shows), compact_json(raw)]
    tokens = _tokens(*texts)
    return dict(zip(names, zip(tokens[::2], tokens[1::2], strict=True), strict=True))


def _issue(number: int) -> dict[str, Any]:
    """An issue as GitHub answers it, as far as a list shows it."""
    return {
        "number": number,
        "title": f"The export of report {number} stops without a message",
        "state": "open" if number % 3 else "closed",
        "user": {"login": f"user{number % 7}"},
        "labels": [{"name": "bug"}, {"name": "export"}],
        "updated_at": f"2026-10-{number % 28 + 1:02}T09:00:00Z",
    }


def _tokens(*texts: str) -> list[int]:
    from tests.peers.tokens import o200k

    return o200k(*texts)


def _milliseconds(work: Any) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000
