"""`mcpist doctor`: all findings as lines; it succeeds where none of them is a problem."""

import argparse
from collections import Counter
from collections.abc import Mapping
from functools import partial

from infra.cli.account import stack
from infra.cli.doctor import clock
from infra.cli.doctor.checks import Line, examine, found
from infra.cli.doctor.deployment import deployment
from infra.cli.doctor.finding import State, problem
from infra.cli.document import Done, Failed
from infra.cli.table import drawn


def examined(options: argparse.Namespace) -> Done:
    """What all checks found; a Failed with the same where something is a problem."""
    deployed = bool(options.stack or options.profile or options.region)
    lines = _time(options) if deployed else []
    try:
        with stack(options.stack, options.profile, options.region):
            lines += examine(deployment(options))
    except Failed as error:
        if not deployed:
            raise
        lines.append(Line("configuration", "stack", problem(str(error), error.error["hint"])))
    counts = dict(Counter(line.finding.state for line in lines))
    facts = {"findings": [_shown(line) for line in lines], "counts": counts}
    drawing = _drawn(lines, counts)
    if not counts.get("problem"):
        return Done(metadata=facts, drawing=drawing)
    message = f"Problems: {counts['problem']}."
    hint = "Do what the remedies in the details say, and run `mcpist doctor` again."
    raise Failed({"code": "NOT_CONFIGURED", "message": message, "hint": hint, "details": facts}, drawing)


def _time(options: argparse.Namespace) -> list[Line]:
    """First the clock: where it is wrong, AWS answers nothing else."""
    ask = partial(clock.against_aws, options.profile, options.region)
    return [Line("clock", "AWS", finding) for finding in found(ask)]


def _shown(line: Line) -> dict[str, str]:
    finding = line.finding
    return {
        "area": line.area,
        "about": line.about,
        "state": finding.state,
        "found": finding.found,
        "remedy": finding.remedy,
    }


def _drawn(lines: list[Line], counts: Mapping[State, int]) -> str:
    rows = [[line.finding.state, line.area, line.about, line.finding.found] for line in lines]
    table = drawn(("state", "area", "about", "found"), rows).splitlines()
    remedies = ["", *(f"    {line.finding.remedy}" if line.finding.remedy else "" for line in lines)]
    told = [text for pair in zip(table, remedies, strict=True) for text in pair if text]
    return "\n".join([*told, ", ".join(f"{count} {state}" for state, count in counts.items())])
