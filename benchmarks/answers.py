"""Answers that nobody projected: tokens and CPU of all that a vendor sends, pruned and written as an outline.

`make bench ARGS="answers"` measures this part alone.
"""

import time
from collections import defaultdict
from collections.abc import Iterator
from statistics import geometric_mean
from typing import Any

import pytest

from benchmarks.report import Row
from mcpist.render.answer import compact, compact_json
from mcpist.render.shows import shows
from tests.peers.tokens import o200k
from tests.services.contracts import CONTRACTED, SPECS, Vendor

MIN_CHARACTERS = 80  # of an answer that says more than that all is well
ROUNDS = 5
GITHUB_NOISE = ("node_id", "gravatar_id", "*_url", "!html_url", "user.url", "owner.url", "creator.url")


def rows() -> Iterator[Row]:
    """Measure the vendors' own examples; without Node or the descriptions, a row says so."""
    try:
        yield from unprojected()
    except pytest.skip.Exception as absent:
        yield "answers that nobody projected", f"not measured: {absent}", ""


def unprojected() -> Iterator[Row]:
    """Tokens of answers of which every field is shown, against the vendors' minified JSON."""
    answers = _answers()
    plain = [compact_json(raw) for _, raw in answers]
    everything = [compact(raw, shows("*")) for _, raw in answers]
    began = time.process_time()
    for _ in range(ROUNDS):
        for _, raw in answers:
            compact(raw, shows("*"))
    milliseconds = (time.process_time() - began) * 1000 / ROUNDS / (sum(map(len, plain)) / 10_000)
    ratios = _ratios(everything, plain)
    by_service: dict[str, list[float]] = defaultdict(list)
    for (service, _), ratio in zip(answers, ratios, strict=True):
        by_service[service].append(ratio)
    what = f"tokens of {len(answers)} answers with every field, against minified JSON: geometric mean"
    yield what, f"{geometric_mean(ratios):.2f}", "0.75"
    yield "the same: the worst", f"{max(ratios):.2f}", "1"
    for service, some in by_service.items():
        yield f"the same: the {len(some)} of `{service}`", f"{geometric_mean(some):.2f}", ""
    yield "CPU of rendering 10 KB of them", f"{milliseconds:.2f} ms", "1 ms"
    github = [raw for service, raw in answers if service == "github"]
    quiet = _ratios(
        [compact(raw, shows("*", noise=GITHUB_NOISE)) for raw in github], [compact_json(raw) for raw in github]
    )
    what = f"the {len(quiet)} of `github`, where a server's configuration says that API URLs and node ids are noise"
    yield what, f"{geometric_mean(quiet):.2f}", "0.45"


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
