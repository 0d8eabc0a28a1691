"""The contents page of `docs/decisions`: all decisions by area, each with what would reopen it."""

import re
from collections import defaultdict
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs/decisions"
HEAD = (
    "An entry has the question, the choice, what else was possible, and when to think again; its title is the decision."
)
FORM = re.compile(
    r"---\narea: (?P<area>.+)\nstatus: (?P<status>accepted|replaced)\ndate: (?P<date>\d{4}-\d\d-\d\d)\n---\n"
    r"# (?P<title>.+)\n\n\*\*Question\.\*\* [^*](?s:.+?)\n\n\*\*Choice\.\*\* (?s:.+)"
)
REOPEN = re.compile(r"^\*\*Re(?:open when|placed)\*\* ((?:.+\n)+)", re.MULTILINE)


def contents(folder: Path = FOLDER) -> str:
    """Return the page; raise `ValueError` where a file is not in the form of a decision."""
    areas: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(folder.glob("*.md")):
        if file.name != "README.md":
            area, row = _row(file)
            areas[area].append(row)
    lines = ["---", "title: Decisions", "tags: [decisions, architecture]", "---", "# Decisions", "", HEAD]
    for area, rows in sorted(areas.items()):
        lines += ["", f"## {area}", "", "| decision | date | when to think again |", "| --- | --- | --- |", *rows]
    return "\n".join([*lines, ""])


def _row(file: Path) -> tuple[str, str]:
    text = file.read_text("utf-8")
    found = FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{file.name} is no decision: CONTRIBUTING.md has the form")
    reopened = REOPEN.search(text)
    if found["status"] == "replaced" and not (reopened and "](" in reopened[1]):
        raise ValueError(f"{file.name} is replaced, and does not link to what replaced it")
    again = " ".join(reopened[1].split()).replace("|", "\\|") if reopened else ""
    again = f"replaced {again}" if found["status"] == "replaced" else again
    return found["area"], f"| [{found['title']}]({file.name}) | {found['date']} | {again} |"
