"""Quality and speed of the search for tools."""

import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.report import Row
from mcpist.tools.search.index import Index, ModuleEntry, ToolEntry
from mcpist.tools.search.word_index import WordIndex
from mcpist_services import NAMES
from mcpist_services.catalogue import CATALOGUE

TASKS = Path(__file__).with_name("tasks.jsonl")
BEST = (5, 3)
SYNTHETIC_MODULES, SYNTHETIC_TOOLS = 50, 100  # a module
MANY_MODULES = 500
ROUNDS = 5


def rows() -> Iterator[Row]:
    """Measure how well and how fast tools are found."""
    yield from recall()
    yield from speed()


def recall() -> Iterator[Row]:
    """Measure the recall of the search."""
    tools = CATALOGUE.index.tools
    names = [f"{tool.module}.{tool.name}" for tool in tools]
    tasks = [json.loads(line) for line in TASKS.read_text("utf-8").splitlines()]
    ranked = [
        [names[number] for number, _ in CATALOGUE.index.words.rank(task["task"], range(len(names)), max(BEST))]
        for task in tasks
    ]
    for best in BEST:
        found = [not set(first[:best]).isdisjoint(task["tools"]) for first, task in zip(ranked, tasks, strict=True)]
        parts: dict[str, list[bool]] = {f"all {len(tasks)} tasks": found}
        for language in ("en", "ja"):
            parts[f"those in {language}"] = [
                hit for hit, task in zip(found, tasks, strict=True) if task["language"] == language
            ]
        parts["a fourth, never looked at while the synonyms were written"] = [
            hit for hit, task in zip(found, tasks, strict=True) if task.get("unseen")
        ]
        for which, hits in parts.items():
            yield f"recall@{best} of the search: {which}", f"{sum(hits) / len(hits):.1%}", "95 % or more"


def speed() -> Iterator[Row]:
    """Measure the speed of the search among many tools, and among very many."""
    text = large_catalogue().dump()
    loads = [_milliseconds(lambda: Index.load(text).tools) for _ in range(ROUNDS)]
    yield _search_speed(Index.load(text), "5 ms")
    yield f"loading the index of {len(Index.load(text).tools):,} tools", f"{median(loads):.0f} ms", "50 ms"
    yield _search_speed(Index.load(large_catalogue(copies=MANY_MODULES).dump()), "20 ms")


def _search_speed(index: Index, bound: str) -> Row:
    everything = frozenset(range(len(index.tools)))
    tasks = [json.loads(line)["task"] for line in TASKS.read_text("utf-8").splitlines()]
    index.words.rank(tasks[0], everything)  # imports the stemmer and reads the synonyms
    queries = [_milliseconds(lambda task=task: index.words.rank(task, everything)) for task in tasks]
    name = f"search among {len(index.tools):,} tools: median (slowest) of {len(tasks)} queries"
    return name, f"{median(queries):.1f} ms ({max(queries):.1f} ms)", bound


def large_catalogue(*more: ModuleEntry, copies: int = SYNTHETIC_MODULES) -> Index:
    """Return the catalogue's index with as many modules of renamed copies of tools, and the modules in `more`."""
    chance = random.Random(7)  # noqa: S311 - equal in every run
    real = [tool for name in NAMES for tool in CATALOGUE.module(name).tools.values()]
    vocabulary = sorted({word for tool in real for word in tool.description.split()})
    modules = list(CATALOGUE.index.modules.values())
    found = CATALOGUE.search_words()
    words = {tool: tool.words | found[tool.module].phrases.get(tool.name, {}) for tool in real}
    texts: list[Any] = list(words.values())
    for number in range(copies):
        name = f"service{number}"
        entries: dict[str, ToolEntry] = {}
        for tool in chance.choices(real, k=SYNTHETIC_TOOLS):
            own = f"{tool.name}_{chance.choice(vocabulary).lower().strip('.,:()')}_{len(entries)}"
            entries[own] = replace(ToolEntry.of(tool, {}), module=name, name=own)
            about = f"{tool.description} {' '.join(chance.choices(vocabulary, k=3))}"
            texts.append({**words[tool], "name": own, "service": name, "description": about})
        modules.append(ModuleEntry(name, "A service.", "1", name, {}, entries))
    return Index([*modules, *more], WordIndex.of(texts, CATALOGUE.index.words.synonyms))


def _milliseconds(work: Any) -> float:
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000
