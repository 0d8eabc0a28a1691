"""Answers that nobody projected: tokens and CPU of all that a vendor sends, pruned and written as compact TOON.

`make bench ARGS="answers"` measures this part alone.
"""

import csv
import io
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from random import Random
from statistics import geometric_mean
from typing import Any

import pytest
import toon_format
import yaml

from benchmarks import apis
from benchmarks.report import Row
from mcpist.caller import ANSWER_FORMATS
from mcpist.render.answer import compact, compact_json
from mcpist.render.pruning import prune
from mcpist.render.read import read
from mcpist.render.shows import shows
from tests.peers.tokens import o200k
from tests.services.contracts import CONTRACTED, SPECS, Vendor
from tests.services.descriptions.contract import Contract

MIN_CHARACTERS = 80  # of an answer that says more than that all is well
ROUNDS = 25  # other work on the machine slows some of them
SEED, QUESTIONS = 7, 200
GITHUB_NOISE = ("node_id", "gravatar_id", "*_url", "!html_url", "user.url", "owner.url", "creator.url")


def rows() -> Iterator[Row]:
    """Measure the vendors' own examples; without Node or the descriptions, a row says so."""
    try:
        yield from unprojected()
        yield from unseen()
        yield from comprehension()
    except pytest.skip.Exception as absent:
        yield "answers that nobody projected", f"not measured: {absent}", ""


def unprojected() -> Iterator[Row]:
    """Tokens of answers of which every field is shown, against the vendors' minified JSON."""
    answers = _answers()
    plain = [compact_json(raw) for _, raw in answers]
    everything = [compact(raw, shows("*")) for _, raw in answers]
    milliseconds = min(_cpu_seconds(answers) for _ in range(ROUNDS)) * 1000 / (sum(map(len, plain)) / 10_000)
    ratios = _ratios(everything, plain)
    by_service: dict[str, list[float]] = defaultdict(list)
    for (service, _), ratio in zip(answers, ratios, strict=True):
        by_service[service].append(ratio)
    what = f"tokens of {len(answers)} answers with every field, against minified JSON: geometric mean"
    yield what, f"{geometric_mean(ratios):.2f}", "0.75"
    yield "the same: the worst", f"{max(ratios):.2f}", "1"
    for service, some in by_service.items():
        yield f"the same: the {len(some)} of `{service}`", f"{geometric_mean(some):.2f}", ""
    yield f"CPU of rendering 10 KB of them: the fastest of {ROUNDS} rounds", f"{milliseconds:.2f} ms", "1 ms"
    yield from _without_noise([raw for service, raw in answers if service == "github"])


def _without_noise(raws: list[Any]) -> Iterator[Row]:
    quiet = shows("*", noise=GITHUB_NOISE)
    noisy = [raw for raw in raws if prune(raw, quiet.noise) != prune(raw)]
    said = "of `github`, where a server's configuration says that API URLs and node ids are noise"
    for some, what, most in (
        (noisy, f"the {len(noisy)} with such fields {said}", "0.45"),
        (raws, f"all {len(raws)} {said}", ""),
    ):
        ratios = _ratios([compact(raw, quiet) for raw in some], [compact_json(raw) for raw in some])
        yield what, f"{geometric_mean(ratios):.2f}", most


def unseen() -> Iterator[Row]:
    """Tokens of answers of APIs for which nobody tuned the form, beside those of other forms."""
    raws = [raw for raw in _imported() if len(compact_json(raw)) >= MIN_CHARACTERS]
    plain = [compact_json(raw) for raw in raws]
    forms: tuple[tuple[str, Callable[[Any], str], str], ...] = (
        ("compact", lambda raw: compact(raw, shows("*")), "0.70"),
        ("toon", lambda raw: compact(raw, shows("*"), "toon"), ""),
        ("TOON by `toon-format`, nulls and all", toon_format.dumps, ""),
        ("JSON, pruned", lambda raw: compact(raw, shows("*"), "json"), ""),
        ("YAML", _yaml, ""),
        ("CSV, with JSON in its cells", _csv, ""),
    )
    what = f"tokens of {len(raws)} answers of imported APIs with every field, against minified JSON"
    for name, write, most in forms:
        ratios = _ratios([write(raw) for raw in raws], plain)
        yield f"{what}: {name}", f"{geometric_mean(ratios):.2f}", most
        if name == "compact":
            longer = sum(ratio > 1 for ratio in ratios)
            yield f"the same: the worst ({longer} of them over 1)", f"{max(ratios):.2f}", "1"


def comprehension() -> Iterator[Row]:
    """Questions about cells that a strict reader of each form answers by row and name."""
    random = Random(SEED)  # noqa: S311 - the same questions each time
    rows = [
        {"number": n, "title": f"Report {n}, part {n % 3}", "state": "open" if n % 3 else "closed",
         "url": f"https://example.com/{n}", "user": {"login": f"user{n % 7}", "id": n % 7}, "tags": ["a", f"t{n}"]}
        for n in range(50)
    ]  # fmt: skip
    questions = [(random.randrange(len(rows)), random.choice(list(rows[0]))) for _ in range(QUESTIONS)]
    readers: dict[str, Callable[[], Any]] = {
        "compact": lambda: read(compact(rows, shows("*")))["items"],
        "toon": lambda: toon_format.loads(compact(rows, shows("*"), "toon"))["items"],
        "json": lambda: json.loads(compact(rows, shows("*"), "json")),
        "YAML": lambda: yaml.safe_load(_yaml(rows)),
        "CSV, with JSON in its cells": lambda: list(csv.DictReader(io.StringIO(_csv(rows)))),
    }
    for name, reader in readers.items():
        found = reader()
        right = sum(found[row][column] == rows[row][column] for row, column in questions)
        most = f"{QUESTIONS} or more" if name in ANSWER_FORMATS else ""
        yield f"questions of {QUESTIONS} about cells that a strict reader answers: {name}", f"{right}", most


def _cpu_seconds(answers: list[tuple[str, Any]]) -> float:
    every_field = shows("*")  # declared once, as a tool's
    began = time.process_time()
    for _, raw in answers:
        compact(raw, every_field)
    return time.process_time() - began


def _imported() -> Iterator[Any]:
    for _, _, found, file in apis.imported().values():
        described = Contract(file.name.removesuffix(".openapi.json"), json.loads(file.read_text("utf-8")))
        for tool in found.tools.values():
            yield apis.answer_to(described, tool)


def _yaml(raw: Any) -> str:
    return yaml.safe_dump(raw, allow_unicode=True, sort_keys=False)


def _csv(raw: Any) -> str:
    rows = raw if isinstance(raw, list) and all(isinstance(row, dict) for row in raw) else [{"value": raw}]
    written = io.StringIO()
    writer = csv.DictWriter(written, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows({n: compact_json(v) if isinstance(v, (dict, list)) else v for n, v in row.items()} for row in rows)
    return written.getvalue()


def _answers() -> list[tuple[str, Any]]:
    """Return different answers, each with the name of its service."""
    if not SPECS.exists():
        pytest.skip(f"the vendors' API descriptions are not in {SPECS}")
    found: dict[str, tuple[str, Any]] = {}
    for name in CONTRACTED:
        vendor = Vendor(name)
        for tool in vendor.module.tools.values():
            raw = vendor.perform(tool, tool.examples[0]["parameters"])
            text = compact_json(raw)
            if len(text) >= MIN_CHARACTERS:
                found[text] = name, raw
    return list(found.values())


def _ratios(texts: list[str], plain: list[str]) -> list[float]:
    counts = o200k(*texts, *plain)
    return [ours / theirs for ours, theirs in zip(counts[: len(texts)], counts[len(texts) :], strict=True)]
