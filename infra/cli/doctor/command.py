"""`mcpist doctor`: all findings as lines; it succeeds where none of them is a problem."""

import argparse
from collections import Counter
from collections.abc import Mapping
from functools import partial

from infra.cli.account import stack
from infra.cli.doctor import clock
from infra.cli.doctor.checks import CheckResult, run_check, run_checks
from infra.cli.doctor.deployment import deployment
from infra.cli.doctor.finding import State, problem
from infra.cli.document import CommandError, CommandResult
from infra.cli.table import render_table


def run_doctor(options: argparse.Namespace) -> CommandResult:
    """What all checks found; a CommandError with the same where something is a problem."""
    deployed = bool(options.stack or options.profile or options.region)
    lines = _time(options) if deployed else []
    try:
        with stack(options.stack, options.profile, options.region):
            lines += run_checks(deployment(options))
    except CommandError as error:
        if not deployed:
            raise
        lines.append(CheckResult("configuration", "stack", problem(str(error), error.error["hint"])))
    counts = dict(Counter(line.finding.state for line in lines))
    facts = {"findings": [_shown(line) for line in lines], "counts": counts}
    drawing = _render(lines, counts)
    if not counts.get("problem"):
        return CommandResult(metadata=facts, drawing=drawing)
    message = f"Problems: {counts['problem']}."
    hint = "Do what the remedies in the details say, and run `mcpist doctor` again."
    raise CommandError({"code": "NOT_CONFIGURED", "message": message, "hint": hint, "details": facts}, drawing)


def _time(options: argparse.Namespace) -> list[CheckResult]:
    """First the clock: where it is wrong, AWS answers nothing else."""
    ask = partial(clock.against_aws, options.profile, options.region)
    return [CheckResult("clock", "AWS", finding) for finding in run_check(ask)]


def _shown(line: CheckResult) -> dict[str, str]:
    finding = line.finding
    return {
        "area": line.area,
        "about": line.about,
        "state": finding.state,
        "found": finding.found,
        "remedy": finding.remedy,
    }


def _render(lines: list[CheckResult], counts: Mapping[State, int]) -> str:
    rows = [[line.finding.state, line.area, line.about, line.finding.found] for line in lines]
    table = render_table(("state", "area", "about", "found"), rows).splitlines()
    remedies = ["", *(f"    {line.finding.remedy}" if line.finding.remedy else "" for line in lines)]
    told = [text for pair in zip(table, remedies, strict=True) for text in pair if text]
    return "\n".join([*told, ", ".join(f"{count} {state}" for state, count in counts.items())])
