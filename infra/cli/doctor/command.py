"""`mcpist doctor`: list all findings, and succeed if none of them is a problem."""

from functools import partial
from typing import Annotated

from typer import Option

from infra.cli.doctor import clock
from infra.cli.doctor.checks import CheckResult, run_check, run_checks
from infra.cli.doctor.deployment import read_deployment
from infra.cli.doctor.finding import problem
from infra.cli.doctor.report import report
from infra.cli.document import CommandError, CommandResult
from infra.cli.options import OrganizationOption, Target, with_target
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
    return report(lines, "mcpist doctor")


def _clock(target: Target) -> list[CheckResult]:
    """Check the clock first: if it is wrong, AWS refuses every other request."""
    ask = partial(clock.against_aws, target.profile, target.region)
    return [CheckResult("clock", "AWS", finding) for finding in run_check(ask)]
