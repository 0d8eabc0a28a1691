"""The contents page of the decisions, and the form of a decision."""

from pathlib import Path

import pytest

from scripts.decisions import FOLDER, contents

DECISION = """---
area: {area}
status: {status}
date: 2026-11-27
---
# {title}

**Question.** Which?

**Choice.** This one | that one.

{last}
"""


def write(folder: Path, name: str, **fields: str) -> None:
    form = {"area": "Tests", "status": "accepted", "title": "One", "last": "**Reopen when** a | b\nis `c`."}
    (folder / f"{name}.md").write_text(DECISION.format(**form | fields))


def test_the_contents_page_has_every_decision_in_its_area_with_what_would_reopen_it(tmp_path: Path) -> None:
    write(tmp_path, "one")
    write(tmp_path, "two", area="Files", title="Two", last="**Alternatives.** None.")
    write(tmp_path, "three", status="replaced", title="Three", last="**Replaced** on 2026-11-28: [one](one.md).")
    (tmp_path / "README.md").write_text("the page itself")
    assert contents(tmp_path).partition("\n## ")[2].splitlines() == [
        "Files",
        "",
        "| decision | date | when to think again |",
        "| --- | --- | --- |",
        "| [Two](two.md) | 2026-11-27 |  |",
        "",
        "## Tests",
        "",
        "| decision | date | when to think again |",
        "| --- | --- | --- |",
        "| [One](one.md) | 2026-11-27 | a \\| b is `c`. |",
        "| [Three](three.md) | 2026-11-27 | replaced on 2026-11-28: [one](one.md). |",
    ]


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"status": "perhaps"}, "one.md is no decision"),
        ({"title": "One\n\nMore."}, "one.md is no decision"),
        ({"status": "replaced"}, "one.md is replaced, and does not link to"),
        ({"status": "replaced", "last": "**Replaced** by another."}, "one.md is replaced, and does not link to"),
    ],
)
def test_a_file_in_another_form_is_refused_by_its_name(tmp_path: Path, fields: dict[str, str], fault: str) -> None:
    write(tmp_path, "one", **fields)
    with pytest.raises(ValueError, match=fault):
        contents(tmp_path)


def test_the_files_of_decisions_are_named_by_their_titles() -> None:
    def letters(text: str) -> str:
        return "".join(letter for letter in text.lower() if letter.isalnum())

    titles = {file: file.read_text("utf-8").partition("\n# ")[2].partition("\n")[0] for file in FOLDER.glob("*.md")}
    del titles[FOLDER / "README.md"]
    assert [file.name for file, title in titles.items() if letters(file.stem) != letters(title)] == []
