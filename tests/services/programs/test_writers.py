"""The example programs for writers, run by hand."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcpist.bounded_yaml import load_yaml

WRITERS = Path(__file__).parents[3] / "examples/programs/writers"
DRAFT = """---
word_count_target: 20
---

# Title

## One

The the lamp was “out. Nobody knew.

## Two

<!-- later -->
"""


def ran(folder: Path, program: str, *words: str, code: int = 0) -> Any:
    """The JSON that a program prints, or its complaint."""
    done = subprocess.run(
        [sys.executable, WRITERS / program, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == code, done.stderr
    return done.stderr if code else json.loads(done.stdout)


def created(folder: Path, *, number: str = "7", title: str = "Fog", genre: str = "mystery", words: str = "1999") -> Any:
    options = [f"--episode-number={number}", f"--title={title}", f"--genre={genre}", f"--word-count-target={words}"]
    return ran(folder, "create_episode", *options, code=int(number == "0" or "\n" in title))


@pytest.mark.parametrize("title", ['A "quoted": # title', "日本語の題", "no", "- x", "a: {b"])
def test_the_facts_of_an_episode_are_yaml_whatever_its_title_is(tmp_path: Path, title: str) -> None:
    created(tmp_path, title=title)
    facts = load_yaml((tmp_path / "episode-007.yaml").read_text("utf-8"))
    assert (facts["title"], facts["episode"]) == (title, 7)
    assert sum(scene["words"] for scene in facts["scenes"]) == 1_999
    draft = (tmp_path / "episode-007.md").read_text("utf-8")
    assert load_yaml(draft.split("---\n")[1])["title"] == title


def test_an_unknown_genre_has_scenes_and_wrong_numbers_are_refused(tmp_path: Path) -> None:
    assert created(tmp_path, genre="Western")["scenes"] == 4
    assert "at least number 1" in created(tmp_path, number="0")
    assert "one line" in created(tmp_path, title="a\nb")


def test_each_check_finds_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(DRAFT, "utf-8")
    found = ran(tmp_path, "quality_check", "--", "a.md")
    assert found["words"] == {"a.md": 7}
    assert [(one["line"], one["check"]) for one in found["findings"]] == [
        (2, "length"),
        (9, "quotes"),
        (9, "repetition"),
        (11, "structure"),
    ]
    assert "line 9" in (tmp_path / "report.md").read_text("utf-8")
    assert ran(tmp_path, "quality_check", "--check", "sentences", "a.md")["passed"] is True


def test_long_sentences_frequent_words_and_texts_without_sections_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"# T\n\n{'very long winding ' * 80}.\n\n{'short. ' * 5}", "utf-8")
    found = ran(tmp_path, "quality_check", "a.md")
    assert found["counts"] == {"repetition": 2, "sentences": 1}
    (tmp_path / "b.md").write_text("no title", "utf-8")
    assert ran(tmp_path, "quality_check", "b.md")["findings"][0]["problem"] == "there is no title"
