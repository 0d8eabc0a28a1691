"""Seals of the audit: what was altered, removed, inserted or reordered is found."""

import random
import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from mcpist.audit import record as audit
from mcpist.audit import seals, verification
from mcpist.audit.record import SHARDS
from mcpist.audit.seals import Seal, latest_seal, make_seal, seal_organization
from mcpist.audit.verification import verify
from mcpist.aws.attributes import Item
from mcpist.aws.table import Table
from mcpist.errors import InvalidRequest
from mcpist.settings import settings
from tests.audit_items import audit_items

NOW = datetime(2026, 11, 22, 12, 30, tzinfo=UTC)
ATTACKS = 10_000
CORPORA = 100

type Audit = tuple[list[Item], list[Seal]]


def row(moment: datetime, dice: random.Random | None = None, **columns: Any) -> Item:
    """Return a row of a moment, with columns by the dice."""
    dice = dice or random.Random(0)  # noqa: S311 - no secret
    text = "".join(dice.choices(string.ascii_letters + string.digits + " é日", k=8))
    usual: dict[str, Any] = {"organization": "acme", "user": dice.choice(("uma", "ada")), "roles": ["members", text]}
    usual |= {"event": "use", "service": "shop", "account": text, "outcome": dice.choice(("succeeded", "TIMEOUT"))}
    made = audit.new_row(
        **{**usual, "request": text, "target": "users.uma", "after": {"name": text, "n": 1}, **columns}
    )
    key = f"{dice.getrandbits(32):08x}"
    expires = int(moment.timestamp()) + 400 * audit.SECONDS_PER_DAY
    return audit.keyed(made, "acme", f"{audit.timestamp(moment)}#{key}") | {"expires_at": expires}


def between(rows: Sequence[Item], seal: Seal) -> list[Item]:
    """Return what a query for the rows of a seal finds."""
    found = (one for one in rows if seal.since <= one["sk"] < seal.until)
    return sorted(found, key=lambda one: str(one["sk"]))


def findings(rows: Sequence[Item], chain: Sequence[Seal]) -> Sequence[verification.VerificationFinding]:
    checker = verification.SealChecker()
    for seal in chain:
        checker.check(seal, between(rows, seal))
    return tuple(checker.findings)


def sealed(dice: random.Random) -> Audit:
    """Return rows of two days, and their chain of seals."""
    start = datetime(2026, 11, 21, 22, tzinfo=UTC)
    rows = [row(start + timedelta(minutes=dice.randrange(240)), dice) for _ in range(8)]
    parts = ("2026-11-21T22", "2026-11-21T23", "2026-11-22", "2026-11-22T00:30", "2026-11-22T02")
    chain: list[Seal] = []
    for since, until in pairwise(parts):
        shell = Seal("acme", since, until, b"", 0, "", "")
        chain.append(make_seal("acme", since, until, between(rows, shell), chain[-1].digest if chain else "", 9))
    return rows, chain


# -- attacks: each changes something, and leaves keys unique as a table does ---------------------------------


def alter(dice: random.Random, rows: list[Item], _: list[Seal]) -> None:
    index = dice.randrange(len(rows))
    name = dice.choice([name for name in rows[index] if name not in {"pk", "sk"}])
    old = rows[index][name]
    new: Any = old + 1 if isinstance(old, int) else [*old, "x"] if isinstance(old, list) else f"{old}x"
    rows[index] = {**rows[index], name: new}


def add_or_drop_a_column(dice: random.Random, rows: list[Item], _: list[Seal]) -> None:
    index = dice.randrange(len(rows))
    name = dice.choice([name for name in rows[index] if name not in {"pk", "sk"}])
    kept = {column: value for column, value in rows[index].items() if column != name}
    rows[index] = kept if dice.random() < 0.5 else {**rows[index], "note": ""}


def remove(dice: random.Random, rows: list[Item], _: list[Seal]) -> None:
    for _time in range(dice.choice((1, 1, 2, 5))):
        rows.pop(dice.randrange(len(rows)))


def insert(dice: random.Random, rows: list[Item], _: list[Seal]) -> None:
    other = dice.choice(rows)
    rows.append({**other, "sk": f"{other['sk'].partition('#')[0]}#{dice.getrandbits(32):08x}{dice.randrange(10)}"})


def swap_contents(dice: random.Random, rows: list[Item], _: list[Seal]) -> None:
    one, two = dice.sample(range(len(rows)), 2)
    keys = [{name: rows[index][name] for name in ("pk", "sk")} for index in (one, two)]
    rows[one], rows[two] = rows[two] | keys[0], rows[one] | keys[1]


def move(dice: random.Random, rows: list[Item], _: list[Seal]) -> None:
    index = dice.randrange(len(rows))
    start = datetime(2026, 11, 21, 22, tzinfo=UTC) + timedelta(seconds=dice.randrange(14_400))
    moved = {"sk": f"{audit.timestamp(start)}#{rows[index]['sk'].rpartition('#')[2]}"}
    rows[index] = rows[index] | moved


def alter_seal(dice: random.Random, _: list[Item], chain: list[Seal]) -> None:
    index = dice.randrange(len(chain))
    change = dice.choice(({"digest": "0" * 64}, {"previous": "0" * 64}, {"rows_expire_at": 7}, {"hashes": b"x" * 8}))
    chain[index] = replace(chain[index], **change)


def remove_inner_seal(dice: random.Random, _: list[Item], chain: list[Seal]) -> None:
    chain.pop(dice.randrange(1, len(chain) - 1))


def swap_seals(dice: random.Random, _: list[Item], chain: list[Seal]) -> None:
    one, two = dice.sample(range(len(chain)), 2)
    chain[one], chain[two] = chain[two], chain[one]


def reseal(dice: random.Random, rows: list[Item], chain: list[Seal]) -> None:
    """Alter a row and make its seal fit, as somebody could who writes seals, but not all that follow."""
    before = list(rows)
    alter(dice, rows, chain)
    (changed,) = [one for one, other in zip(rows, before, strict=True) if one != other]
    for index, seal in enumerate(chain[:-1]):
        if changed in between(rows, seal):
            chain[index] = make_seal("acme", seal.since, seal.until, between(rows, seal), seal.previous, 9)
            return


ROW_ATTACKS: tuple[Callable[[random.Random, list[Item], list[Seal]], None], ...] = (
    *(alter, add_or_drop_a_column, remove, insert, swap_contents, move),
    *(alter_seal, remove_inner_seal, swap_seals, reseal),
)


def test_ten_thousand_of_ten_thousand_attacks_are_found() -> None:
    dice = random.Random(14)  # noqa: S311 - no secret
    unseen: list[str] = []
    for _ in range(CORPORA):
        rows, chain = sealed(dice)
        assert not findings(rows, chain)
        for number in range(ATTACKS // CORPORA):
            attack = ROW_ATTACKS[number % len(ROW_ATTACKS)]
            altered_rows, altered_chain = list(rows), list(chain)
            attack(dice, altered_rows, altered_chain)
            assert (altered_rows, altered_chain) != (rows, chain)
            if not findings(altered_rows, altered_chain):
                unseen.append(attack.__name__)
    assert unseen == []


def test_a_finding_names_the_rows_that_differ() -> None:
    rows, chain = sealed(random.Random(3))  # noqa: S311 - no secret
    first, second = max((between(rows, seal) for seal in chain), key=len)[:2]
    changed = [{**first, "user": "eve"} if one is first else one for one in rows if one is not second]
    (found,) = findings(changed, chain)
    assert (found.kind, found.sealed - found.found, found.missing) == ("rows", 1, 2)
    (unexpected,) = found.unexpected
    assert unexpected.endswith(first["sk"].partition("#")[2])


# -- in the tables ------------------------------------------------------------------------------------------


@pytest.fixture
def table(aws: list[str]) -> Table:  # noqa: ARG001 - it holds the table
    """The audit table, with rows of yesterday and today, the last one too young to be sealed."""
    table = audit.audit_table()
    for hours in (40, 30, 20, 2, 1, 0.1):
        table.put(row(NOW - timedelta(hours=hours), random.Random(hours)))  # noqa: S311 - no secret
    return table


def stored(day: str) -> list[Item]:
    """Return the rows of a day."""
    return [one for one in audit_items("acme") if one["sk"].startswith(day)]


def remove(item: Item) -> None:
    audit.audit_table().delete(item["pk"], item["sk"])


@pytest.mark.usefixtures("table")
def test_rows_are_sealed_some_minutes_after_they_were_written(aws: list[str]) -> None:
    assert seal_organization("acme", NOW) == 4  # from the beginning of yesterday on
    aws.clear()
    assert seal_organization("acme", NOW + timedelta(minutes=1)) == 0
    assert aws == ["Query"] * (1 + SHARDS)  # nothing is written where nothing is new
    assert seal_organization("acme", NOW + timedelta(minutes=30)) == 1
    seal = latest_seal("acme")
    assert seal
    assert seal.until == audit.timestamp(NOW + timedelta(minutes=20))
    found = verify("acme", NOW)
    assert (found.findings, found.rows, found.head, found.cursor) == ((), 5, seal.digest, "")
    assert verify("globex", NOW).seals == 0


@pytest.mark.usefixtures("table")
def test_a_day_without_rows_is_sealed_as_well() -> None:
    seal_organization("acme", NOW)
    assert seal_organization("acme", NOW + timedelta(days=3)) == 1
    ends = [seal.until for seal in seals.seals_from("acme", "0")]
    assert ends == ["2026-11-22", audit.timestamp(NOW - seals.SEAL_DELAY), "2026-11-23", "2026-11-24", "2026-11-25"]
    later = row(NOW + timedelta(days=2))
    audit.audit_table().put(later)
    (found,) = verify("acme", NOW).findings
    assert (found.kind, found.sealed, found.found) == ("rows", 0, 1)


@pytest.mark.parametrize("page", [1, 2, 100])
def test_many_rows_have_several_seals_and_are_verified_by_pages(
    table: Table, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(seals, "MAX_SEALED_ROWS", 1)
    monkeypatch.setattr(verification, "MAX_PAGE_SEALS", page)
    assert seal_organization("acme", NOW) == 4
    altered = row(NOW - timedelta(hours=2), random.Random(2), user="eve")  # noqa: S311 - no secret
    table.put(altered | {name: stored("2026-11-22")[0][name] for name in ("pk", "sk")})
    found, cursor, count = [], "", 0
    while count == 0 or cursor:
        part = verify("acme", NOW, cursor=cursor)
        found += part.findings
        cursor, count = part.cursor, count + part.seals
    assert ([one.kind for one in found], count) == (["rows"], 4)


@pytest.mark.parametrize("cursor", ["~~", "9", f"@{'0' * 64}", "2026-11-22@x"])
def test_a_cursor_of_something_else_is_no_verification_without_findings(cursor: str) -> None:
    with pytest.raises(InvalidRequest):
        verify("acme", NOW, cursor=cursor)


@pytest.mark.usefixtures("table")
def test_a_chain_whose_end_was_cut_lacks_the_digest_that_was_kept() -> None:
    seal_organization("acme", NOW)
    head = verify("acme", NOW).head
    seal = latest_seal("acme")
    assert seal
    assert head == seal.digest
    assert verify("acme", NOW, head=head).contains_head
    Table(settings().seals_table, "seals").delete("acme", seal.since)
    remove(stored("2026-11-22")[0])
    seal_organization("acme", NOW)
    again = verify("acme", NOW, head=head)
    assert (again.findings, again.contains_head) == ((), False)


@pytest.mark.usefixtures("table")
def test_rows_whose_time_is_over_are_counted_and_not_missed() -> None:
    seal_organization("acme", NOW)
    remove(stored("2026-11-21")[0])
    assert len(verify("acme", NOW).findings) == 1
    later = NOW + timedelta(days=settings().audit_days)
    found = verify("acme", later)
    assert (found.findings, found.expired, found.rows) == ((), 4, 0)


def test_rows_expire_by_the_janitors_setting(table: Table) -> None:
    hiding = row(NOW - timedelta(hours=3)) | {"expires_at": 1}
    table.put(hiding)
    seal_organization("acme", NOW)
    remove(stored("2026-11-22")[1])
    assert [(one.sealed, one.found) for one in verify("acme", NOW).findings] == [(3, 2)]


@pytest.mark.usefixtures("table")
def test_two_runs_at_once_make_one_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    seal_organization("acme", NOW)
    first = latest_seal("acme")
    audit.audit_table().put(row(NOW + timedelta(hours=1)))
    monkeypatch.setattr(seals, "latest_seal", lambda _: first)
    later = NOW + timedelta(hours=3)
    assert [seal_organization("acme", later), seal_organization("acme", later + timedelta(hours=1))] == [2, 0]
    assert verify("acme", NOW).findings == ()
