"""A hundred questions about ten large results, with the answers that somebody who reads all of it would give.

Every fact is drawn by a seeded generator, and every expected answer is worked out from the values themselves.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mcpist.files.content import JSON, MARKDOWN, PLAIN, YAML
from mcpist.files.values import readable_json

OWNERS = ("ada", "bob", "eve", "kim", "uma")
STATES = ("open", "closed", "waiting")
TOPICS = ("export", "login", "billing", "search", "import", "backup")
MODULES = ("broker", "runner", "endpoint", "janitor")

type Row = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """One call of a tool, and what it must answer."""

    tool: str
    arguments: Row
    expected: Any


@dataclass(frozen=True)
class Result:
    """A large result and the questions about it."""

    content: bytes
    content_type: str
    questions: list[Question]


def results(size: int = 800) -> Iterator[Result]:
    """Yield the ten results; seven have `size` rows, the others grow with it, too."""
    for seed, form in enumerate(("rows", "inside", "lines", "yaml", "rows", "inside", "lines")):
        yield _rows_result(seed, form, size)
    for seed in (7, 8):
        yield _log_result(seed, 4 * size)
    yield _handbook_result(9, size // 16)


def _rows_result(seed: int, form: str, size: int) -> Result:
    chance = random.Random(seed)  # noqa: S311 - equal in every run
    rows = [_row(chance, number) for number in range(1, size + 1)]
    root = "items" if form == "inside" else "@"
    value = {"total": len(rows), "items": rows} if form == "inside" else rows
    content = {
        "rows": readable_json(value),
        "inside": readable_json(value),
        "lines": "\n".join(map(json.dumps, rows)).encode(),
        "yaml": "\n".join(f"- {json.dumps(row)}" for row in rows).encode(),
    }[form]
    kind = {"lines": PLAIN, "yaml": YAML}.get(form, JSON)
    return Result(content, kind, list(_row_questions(chance, rows, root)))


def _row(chance: random.Random, number: int) -> Row:
    return {
        "number": number,
        "title": f"{chance.choice(TOPICS)} of report {chance.randrange(10_000)} stops without a message",
        "state": chance.choice(STATES),
        "owner": {"login": chance.choice(OWNERS)},
        "amount": chance.randrange(1, 100_000),
        "day": f"2026-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}",
        "due": chance.choice((None, f"2027-01-{chance.randrange(1, 29):02}")),
    }


def _row_questions(chance: random.Random, rows: list[Row], root: str) -> Iterator[Question]:
    one, owner = chance.choice(rows), chance.choice(OWNERS)
    month = f"2026-{chance.randrange(1, 12):02}"
    by_amount = sorted(rows, key=lambda row: -row["amount"])
    yield Question("query", {"expression": f"length({root})"}, len(rows))
    yield Question("query", {"expression": f"length({root}[?state=='open'])"}, _count(rows, state="open"))
    yield Question("query", {"expression": f"sum({root}[].amount)"}, sum(row["amount"] for row in rows))
    yield Question("query", {"expression": f"max_by({root}, &amount).number"}, by_amount[0]["number"])
    yield Question("query", {"expression": f"{root}[-1].title"}, rows[-1]["title"])
    yield _table(rows, ["title"], [f"number = {one['number']}"], lambda row: row["number"] == one["number"])
    yield _table(
        rows,
        ["number"],
        [f"owner.login = {owner}", "state = waiting", f"day >= {month}", f"day < {month}-99"],
        lambda row: (
            row["owner"]["login"] == owner and row["state"] == "waiting" and month <= row["day"] < f"{month}-99"
        ),
    )
    yield _table(
        rows,
        ["number", "due"],
        ["due is not empty", "amount > 98000"],
        lambda row: row["due"] is not None and row["amount"] > 98_000,
    )
    yield _table(
        rows,
        ["number"],
        ["title matches ^backup .*7 stops", "state != closed"],
        lambda row: row["title"].startswith("backup") and "7 stops" in row["title"] and row["state"] != "closed",
    )
    top = [{"number": row["number"], "amount": row["amount"]} for row in by_amount[:3]]
    yield Question("table", {"columns": ["number", "amount"], "order_by": "-amount", "limit": 3}, top)


def _table(rows: list[Row], columns: list[str], where: list[str], fits: Any) -> Question:
    expected = [{column: row[column] for column in columns} for row in rows if fits(row)]
    return Question("table", {"columns": columns, "where": where, "limit": 100}, expected)


def _count(rows: list[Row], **fields: str) -> int:
    return sum(all(row[name] == value for name, value in fields.items()) for row in rows)


def _log_result(seed: int, size: int) -> Result:
    chance = random.Random(seed)  # noqa: S311 - equal in every run
    levels = ["INFO"] * 60 + ["WARNING"] * 3 + ["ERROR"]
    lines = [
        f"2026-11-22T{number // 150:02}:{number % 60:02} {chance.choice(levels)} {chance.choice(MODULES)} "
        f"request {chance.getrandbits(32):08x} took {chance.randrange(5_000)} ms"
        for number in range(size)
    ]
    return Result("\n".join(lines).encode(), PLAIN, list(_log_questions(chance, lines)))


def _log_questions(chance: random.Random, lines: list[str]) -> Iterator[Question]:
    for module in MODULES:
        words = f" ERROR {module} "
        yield _search(lines, f" ERROR {module} ", words)
    for _ in range(3):
        request = chance.choice(lines).split()[4]
        yield _search(lines, request, request)
    for _ in range(3):
        offset = chance.randrange(len(lines))
        yield Question("read", {"offset": offset, "limit": 1}, lines[offset])


def _handbook_result(seed: int, size: int) -> Result:
    chance = random.Random(seed)  # noqa: S311 - equal in every run
    names = [f"{topic} {number}" for topic in TOPICS for number in range(size)]
    lines = ["# Handbook"]
    for name in names:
        body = " ".join(chance.choice((*TOPICS, *OWNERS, *STATES, "the", "then")) for _ in range(120))
        lines += ["", f"## {name}", "", f"Owner: {chance.choice(OWNERS)}. Code {chance.getrandbits(24):06x}.", "", body]
    questions = []
    for name in chance.sample(names, 5):
        place = lines.index(f"## {name}")
        questions += [
            _search(lines, f"^## {name}$", f"## {name}", whole=True),
            Question("read", {"offset": place + 2, "limit": 1}, lines[place + 2]),
        ]
    return Result("\n".join(lines).encode(), MARKDOWN, questions)


def _search(lines: list[str], pattern: str, words: str, *, whole: bool = False) -> Question:
    expected = [
        {"offset": place, "text": line}
        for place, line in enumerate(lines)
        if (line == words if whole else words in line)
    ]
    return Question("search", {"pattern": pattern, "limit": 200}, expected)
