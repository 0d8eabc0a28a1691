"""Records that outlive their process: all of a change or nothing of it."""

import itertools
import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from infra.local.state import FORMAT_VERSION, State, StateUnreadable, StateUnwritable, opened_state

KILLS = 12
# Writes pairs for ever, and prints the number of each after it was stored.
WRITER = """
import sys
from itertools import count
from pathlib import Path
from infra.local.state import opened_state
with opened_state(Path(sys.argv[1])) as state:
    for number in count(int(sys.argv[2])):
        state.put_all("pair", [(side, b"%d" % number) for side in ("left", "right")])
        state.put("all", str(number), b"x" * 5000)
        print(number, flush=True)
"""


def test_records_are_read_after_the_file_was_opened_again(tmp_path: Path) -> None:
    with opened_state(tmp_path / "state") as state:
        state.put_all("a", [("1", b"one"), ("2", b"two"), ("3", None)])
        state.put("a", "2", None)
        state.put("b", "1", b"\x00other")
    with opened_state(tmp_path / "state") as state:
        assert dict(state.all("a")) == {"1": b"one"}
        assert state.get("b", "1") == b"\x00other"
        assert state.get("a", "2") is None
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o600


def test_a_change_may_read_the_state_that_it_changes(tmp_path: Path) -> None:
    with opened_state(tmp_path / "state") as state:
        state.put_all("a", [("1", b"1"), ("2", b"2")])
        state.put_all("a", ((name, None) for name, value in state.all("a") if value == b"1"))
        assert dict(state.all("a")) == {"2": b"2"}


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    with opened_state(tmp_path / "state") as state:
        state.put("a", "1", b"old")
        with pytest.raises(sqlite3.Error):
            state.put_all("a", [("1", b"new"), ("2", object())])  # type: ignore[list-item]
        assert dict(state.all("a")) == {"1": b"old"}


def test_a_process_that_is_killed_while_it_writes_loses_nothing_that_it_reported(tmp_path: Path) -> None:
    path, reported = tmp_path / "state", 0
    randomly = random.Random(7)  # noqa: S311 - moments to kill at
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(reported + 1)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            for line in itertools.islice(process.stdout, randomly.randint(1, 400)):
                reported = int(line)
            process.send_signal(signal.SIGKILL)
            reported = max([reported, *map(int, process.stdout.read().splitlines())])
        with opened_state(path) as state:
            _expect_whole(state, reported)


def _expect_whole(state: State, reported: int) -> None:
    pair = dict(state.all("pair"))
    assert pair["left"] == pair["right"]
    assert int(pair["left"]) in {reported, reported + 1}
    kept = {int(name) for name, _ in state.all("all")}
    assert kept >= set(range(1, reported + 1))


def test_a_file_of_another_format_or_of_something_else_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "newer") as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    connection.close()
    (tmp_path / "other").write_bytes(b"not a database at all, but a long text" * 100)
    for name in ("newer", "other"):
        with pytest.raises(StateUnreadable, match=name), opened_state(tmp_path / name):
            pass


def test_a_fresh_state_removes_the_last_one_with_what_lies_beside_it(tmp_path: Path) -> None:
    with opened_state(tmp_path / "state") as state:
        state.put("a", "1", b"1")
        left = [tmp_path / f"state{suffix}" for suffix in ("-wal", "-shm")]
        kept = [file.read_bytes() for file in left]
    for file, content in zip(left, kept, strict=True):  # as a process that was killed leaves them
        file.write_bytes(content)
    with opened_state(tmp_path / "state", fresh=True) as state:
        assert not list(state.all("a"))


def test_a_full_disk_keeps_what_was_stored_and_is_named(tmp_path: Path) -> None:
    with opened_state(tmp_path / "state") as state:
        state.put("a", "1", b"1")
    with closing(sqlite3.connect(tmp_path / "state")) as connection:
        connection.execute("PRAGMA max_page_count = 1")  # as SQLite sees a disk without space
        full = State(connection)
        with pytest.raises(StateUnwritable, match="full"):
            full.put_all("a", [("1", b"2"), ("2", b"x" * 100_000)])
        assert dict(full.all("a")) == {"1": b"1"}
    (tmp_path / "link").symlink_to("/dev/full")
    with pytest.raises(StateUnwritable, match="link cannot be written"), opened_state(tmp_path / "link"):
        pass
