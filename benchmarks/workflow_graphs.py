"""Six workflow graphs of the shapes that scientific, data and build pipelines have, with steps of 0.2 to 3 seconds.

The first shapes are those of the collection of WfCommons: https://wfcommons.org/format.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

IDEAL_SECONDS = 6.0
MIN_STEP_SECONDS, MAX_STEP_SECONDS = 0.2, 3.0

type Needs = Mapping[str, Sequence[str]]
"""For each step the steps that it waits for, which stand before it."""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A graph of steps that each take a known time."""

    name: str
    needs: Needs
    seconds: Mapping[str, float]

    @property
    def ideal(self) -> float:
        """The seconds that it takes if each step begins when its needs have ended."""
        ends: dict[str, float] = {}
        for step, needs in self.needs.items():
            ends[step] = max((ends[need] for need in needs), default=0) + self.seconds[step]
        return max(ends.values())

    @property
    def hops(self) -> int:
        """The number of steps on its longest path."""
        depths: dict[str, int] = {}
        for step, needs in self.needs.items():
            depths[step] = max((depths[need] for need in needs), default=0) + 1
        return max(depths.values())


def workflows() -> Iterator[Workflow]:
    """Yield the six graphs, the same ones in every run."""
    for number, (name, needs) in enumerate(_graphs().items()):
        yield _timed(name, needs, Random(number))  # noqa: S311 - equal in every run


def _graphs() -> dict[str, Needs]:
    return {
        "blast": _blast(7),
        "rnaseq": _rnaseq(3),
        "1000genome": _genome(10, 5),
        "montage": _montage(6),
        "variants": _variants(5, 10),
        "models": _models(13, 38),
    }


def _timed(name: str, needs: Needs, rng: Random) -> Workflow:
    """Choose the time of each step, so that the longest path takes about IDEAL_SECONDS."""
    drawn = {step: rng.lognormvariate(0, 0.5) for step in needs}
    for _ in range(20):  # the bounds of a step's time change what the longest path takes
        factor = IDEAL_SECONDS / Workflow(name, needs, drawn).ideal
        bounded = {step: min(max(value * factor, MIN_STEP_SECONDS), MAX_STEP_SECONDS) for step, value in drawn.items()}
        drawn = {step: round(value, 3) for step, value in bounded.items()}
    return Workflow(name, needs, drawn)


def _blast(queries: int) -> Needs:
    parts = [f"blast{n}" for n in range(queries)]
    return {"split": [], **{part: ["split"] for part in parts}, "hits": parts, "report": parts}


def _rnaseq(samples: int) -> Needs:
    stages = ("trim", "align", "sort", "count")
    needs: dict[str, list[str]] = {}
    for sample in range(samples):
        chain = [f"{stage}{sample}" for stage in stages]
        needs |= {chain[0]: []} | {step: [before] for before, step in pairwise(chain)}
    counts = [f"count{n}" for n in range(samples)]
    return needs | {"expression": counts, "quality": [f"trim{n}" for n in range(samples)] + counts[:1]}


def _genome(chunks: int, populations: int) -> Needs:
    individuals = [f"individuals{n}" for n in range(chunks)]
    needs: dict[str, list[str]] = {one: [] for one in individuals} | {"merge": individuals, "sifting": []}
    for n in range(populations):
        needs |= {f"overlap{n}": ["merge", "sifting"], f"frequency{n}": ["merge", "sifting"]}
    return needs


def _montage(images: int) -> Needs:
    projected, fitted = [f"project{n}" for n in range(images)], [f"diff{n}" for n in range(images + 1)]
    needs: dict[str, list[str]] = {one: [] for one in projected}
    needs |= {one: [projected[n % images], projected[(n + 1) % images]] for n, one in enumerate(fitted)}
    needs |= {"concat": fitted, "model": ["concat"]}
    corrected = [f"background{n}" for n in range(images)]
    needs |= {one: ["model", projected[n]] for n, one in enumerate(corrected)} | {"table": corrected}
    chain = ["table", "add", "shrink", "jpeg", "archive"]
    return needs | {step: [before] for before, step in pairwise(chain)}


def _variants(samples: int, regions: int) -> Needs:
    stages = ("map", "duplicates", "recalibrate", "apply", "call")
    needs: dict[str, list[str]] = {}
    for sample in range(samples):
        chain = [f"{stage}{sample}" for stage in stages]
        needs |= {chain[0]: []} | {step: [before] for before, step in pairwise(chain)}
    calls = [f"call{n}" for n in range(samples)]
    return needs | {"joint": calls} | {f"filter{n}": ["joint"] for n in range(regions)}


def _models(layers: int, count: int) -> Needs:
    """Return a project of data models in layers, each on one or two models of the layer before."""
    rng = Random(layers)  # noqa: S311 - equal in every run
    rows = [[f"m{layer}_{n}" for n in range(count // layers + (layer < count % layers))] for layer in range(layers)]
    needs: dict[str, list[str]] = {one: [] for one in rows[0]}
    for before, row in pairwise(rows):
        for n, one in enumerate(row):
            needs[one] = sorted({before[n % len(before)], rng.choice(before)})
    return needs
