"""A workflow over 50,000 tokens of drafts by programs and files: the same answers, their tokens, and the time."""

import json
import random
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import pytest

from benchmarks.report import Row
from infra.local.demo import ORGANIZATION, USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, operating, run_local_deployment
from infra.source import ROOT
from mcpist.files import records, storage
from tests.peers.tokens import o200k
from tests.whole.conftest import McpUser

PROGRAMS = ROOT / "examples/programs"
DRAFTS = 10
PARAGRAPHS = 72
MAX_TOKENS = 2_500
MIN_DOCUMENT_TOKENS = 50_000
RUNS = 9
WORD = "lighthouse"
SENTENCE = (
    "the harbour keeper walked along narrow stairs while wind and rain beat old stones of her tower nobody knew who "
    "had taken lamp from its place that night so she wrote every name into book waited for morning"
)
WORDS = SENTENCE.split()
STEPS = (
    {"id": "drafts", "module": "files", "tool": "list", "params": {"limit": DRAFTS}},
    {
        "id": "check",
        "module": "writers",
        "tool": "quality_check",
        "params": {"target_files": "${drafts.items[*].path}", "check_types": ["repetition"]},
    },
    {
        "id": "lines",
        "module": "ripgrep",
        "tool": "count",
        "params": {"pattern": WORD, "files": "${drafts.items[*].path}"},
        "output": True,
    },
    {
        "id": "words",
        "module": "jq",
        "tool": "transform",
        "params": {"filter": "[.[]] | {total: add, longest: max}", "input": "${check.metadata.words}"},
        "output": True,
    },
    {
        "id": "doubles",
        "module": "files",
        "tool": "search",
        "params": {"path": "${check.outputs[0]}", "pattern": "twice in a row"},
        "output": True,
    },
)


@dataclass(frozen=True)
class Draft:
    """A text, and what somebody who reads all of it answers."""

    text: str
    words: int
    lines: int
    """The lines with the word that is asked for."""
    doubles: tuple[int, ...]
    """The lines in which a word stands twice."""


def draft(seed: int) -> Draft:
    """Return a draft whose facts are known because they were put there."""
    chance = random.Random(seed)  # noqa: S311 - equal in every run
    lines, words, found, doubles = [f"# Draft {seed}", ""], 0, 0, []
    for _ in range(PARAGRAPHS):
        paragraph = _paragraph(chance)
        if chance.random() < 0.2:
            paragraph[5], found = WORD, found + 1
        if chance.random() < 0.03:
            paragraph[9] = paragraph[8]
            doubles.append(len(lines) + 1)
        words += len(paragraph)
        lines += [" ".join(paragraph).capitalize() + ".", ""]
    return Draft("\n".join(lines), words, found, tuple(doubles))


def _paragraph(chance: random.Random) -> list[str]:
    """Return words none of which stands twice in a row, also where paragraphs meet."""
    words = ["dawn"]
    while len(words) < 75:
        word = chance.choice(WORDS)
        if word not in words[-2:]:
            words.append(word)
    return [*words, "dusk"]


def rows() -> Iterator[Row]:
    """A workflow by programs and files."""
    if missing := [program for program in ("rg", "jq") if shutil.which(program) is None]:
        yield (rows.__doc__ or "").rstrip("."), f"not measured: {', '.join(missing)} is not installed", ""
        return
    drafts = [draft(seed) for seed in range(DRAFTS)]
    with run_local_deployment(DeploymentOptions(programs=PROGRAMS)) as deployment:
        user = McpUser(deployment, deployment.token(USER))
        stored = _store(deployment, drafts)
        commands = "\n".join(json.dumps(step, separators=(",", ":")) for step in STEPS)
        texts = user.texts("batch", commands=commands)
        right = sum(_right_answers(stored.values(), "\n".join(texts)))
        calls = median(
            _timed(
                lambda: user.texts("call", module="writers", tool="quality_check", params={"target_files": [*stored]})
            )
        )
    by_hand = median(_timed(lambda: _by_hand(drafts)))
    try:
        counts = o200k(*(one.text for one in drafts), commands, *texts)
    except pytest.skip.Exception as absent:
        yield (rows.__doc__ or "").rstrip("."), f"not measured: {absent}", ""
        return
    documents, asking = sum(counts[:DRAFTS]), sum(counts[DRAFTS:])
    assert documents >= MIN_DOCUMENT_TOKENS
    yield f"answers about {DRAFTS} drafts that are those of a reader of all of them", f"{right}", f"{2 * DRAFTS + 2}"
    yield "tokens (o200k) of the drafts in the context", f"{documents:,}", ""
    yield "tokens of the batch that asks programs and files, and of its answer", f"{asking:,}", f"{MAX_TOKENS:,}"
    yield "a check of all drafts: from the call to the answer, median", f"{calls * 1_000:.0f} ms", ""
    yield "the same program by hand, median", f"{by_hand * 1_000:.0f} ms", ""


def _store(deployment: LocalDeployment, drafts: list[Draft]) -> dict[str, Draft]:
    """Store the drafts as the user's files, and return them by their hashes in the order of the list of files."""
    with operating(deployment.aws):
        for one in drafts:
            records.record(ORGANIZATION, USER.sub, one.text.encode(), "text/markdown")
        listed = [file.sha256 for file in records.find_all(ORGANIZATION, USER.sub)]
    by_hash = {storage.digest_of(one.text.encode()): one for one in drafts}
    return {sha256: by_hash[sha256] for sha256 in listed}


def _right_answers(drafts: Iterable[Draft], text: str) -> Iterator[bool]:
    """Yield for each fact whether the answers say it; drafts are numbered in the order of the list of files."""
    drafts = list(drafts)
    for number, one in enumerate(drafts, 1):
        yield re.search(rf"files-{number}\.md:{one.lines}\b", text) is not None
        yield all(f"line {line}: " in text for line in one.doubles)
    told = re.search(r"\{total longest\}: (\d+),(\d+)", text)
    words = [one.words for one in drafts]
    yield told is not None and int(told[1]) == sum(words)
    yield told is not None and int(told[2]) == max(words)


def _by_hand(drafts: list[Draft]) -> None:
    """Run the program as a person does, with the files in a folder."""
    with TemporaryDirectory() as name:
        files = [Path(name, f"draft-{number}.md") for number in range(len(drafts))]
        for file, one in zip(files, drafts, strict=True):
            file.write_text(one.text, "utf-8")
        subprocess.run(  # noqa: S603
            [PROGRAMS / "writers/quality_check", *map(str, files)], cwd=name, check=True, capture_output=True
        )


def _timed(work: Callable[[], object]) -> Iterator[float]:
    for _ in range(RUNS):
        began = time.perf_counter()
        work()
        yield time.perf_counter() - began


if __name__ == "__main__":
    for row in rows():
        print(row)
