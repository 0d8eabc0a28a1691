"""The result of a command that makes checks: all findings, for programs and for a terminal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from infra.cli.doctor.checks import CheckResult
from infra.cli.doctor.finding import State
from infra.cli.document import CommandError, CommandResult
from infra.cli.table import render_table


def report(lines: Sequence[CheckResult], command: str) -> CommandResult:
    """Return the findings; raise CommandError with them if one of them is a problem."""
    counts = dict(Counter(line.finding.state for line in lines))
    facts = {"findings": [_shown(line) for line in lines], "counts": counts}
    drawing = _render(lines, counts)
    if not counts.get("problem"):
        return CommandResult(metadata=facts, drawing=drawing)
    hint = f"Do what the remedies in the details say, and run `{command}` again."
    raise CommandError("NOT_CONFIGURED", f"Problems: {counts['problem']}.", hint, facts, drawing=drawing)


def _shown(line: CheckResult) -> dict[str, str]:
    return {"area": line.area, "about": line.about, **asdict(line.finding)}


def _render(lines: Sequence[CheckResult], counts: Mapping[State, int]) -> str:
    rows = [[line.finding.state, line.area, line.about, line.finding.found] for line in lines]
    table = render_table(("state", "area", "about", "found"), rows).splitlines()
    remedies = ["", *(f"    {line.finding.remedy}" if line.finding.remedy else "" for line in lines)]
    texts = [text for pair in zip(table, remedies, strict=True) for text in pair if text]
    return "\n".join([*texts, ", ".join(f"{count} {state}" for state, count in counts.items())])
