"""`mcpist doctor`: list all findings, and succeed if none of them is a problem."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from typing import Annotated

from typer import Option

from infra.cli.doctor import clock
from infra.cli.doctor.checks import CheckResult, run_check, run_checks
from infra.cli.doctor.deployment import read_deployment
from infra.cli.doctor.finding import State, problem
from infra.cli.document import CommandError, CommandResult
from infra.cli.options import OrganizationOption, Target, with_target
from infra.cli.table import render_table
from infra.cli.target import opened


@with_target
def run_doctor(
    target: Target,
    token: Annotated[
        str | None,
        Option(metavar="TOKEN", help="An administrator's access token, to ask the broker. [default: the last `up`'s]"),
    ] = None,
    organization: OrganizationOption = None,
) -> CommandResult:
    """Check a deployment and show how to correct it; fail if there is a problem."""
    lines = _clock(target) if target.deployed else []
    try:
        with opened(target):
            lines += run_checks(read_deployment(target, token, organization))
    except CommandError as error:
        if not target.deployed:
            raise
        lines.append(CheckResult("configuration", "stack", problem(str(error), error.error["hint"])))
    counts = dict(Counter(line.finding.state for line in lines))
    facts = {"findings": [_shown(line) for line in lines], "counts": counts}
    drawing = _render(lines, counts)
    if not counts.get("problem"):
        return CommandResult(metadata=facts, drawing=drawing)
    hint = "Do what the remedies in the details say, and run `mcpist doctor` again."
    raise CommandError("NOT_CONFIGURED", f"Problems: {counts['problem']}.", hint, facts, drawing=drawing)


def _clock(target: Target) -> list[CheckResult]:
    """Check the clock first: if it is wrong, AWS refuses every other request."""
    ask = partial(clock.against_aws, target.profile, target.region)
    return [CheckResult("clock", "AWS", finding) for finding in run_check(ask)]


def _shown(line: CheckResult) -> dict[str, str]:
    return {"area": line.area, "about": line.about, **asdict(line.finding)}


def _render(lines: list[CheckResult], counts: Mapping[State, int]) -> str:
    rows = [[line.finding.state, line.area, line.about, line.finding.found] for line in lines]
    table = render_table(("state", "area", "about", "found"), rows).splitlines()
    remedies = ["", *(f"    {line.finding.remedy}" if line.finding.remedy else "" for line in lines)]
    texts = [text for pair in zip(table, remedies, strict=True) for text in pair if text]
    return "\n".join([*texts, ", ".join(f"{count} {state}" for state, count in counts.items())])
