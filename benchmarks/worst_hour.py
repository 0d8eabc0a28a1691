"""The most that a hostile user can cost in an hour, and its organization in a day: an upper bound by the limits."""

from dataclasses import dataclass

from benchmarks.month import DAYS_OF_A_MONTH, INDEX_OVERHEAD_BYTES, read, typical_row
from benchmarks.prices import Usage, dollar_text, dollars, prices, total
from benchmarks.report import COSTS, table
from benchmarks.usage import size
from infra.local.template import Template
from mcpist.aws.attributes import serialize
from mcpist.spending import BYTES_PER_MEGABYTE

HOUR_SECONDS, DAY_HOURS = 3_600, 24
ROWS_PER_WRITE = 2  # of the audit: before it is sent, and its outcome
STATES_GB = 64 / 1024  # the least that is billed of an Express execution
BOUND_BY_OTHER_LINES = {"http_api_request", "lambda_gb_second", "states_request", "states_gb_second", "out_byte"}
REFUSAL, CALL, STEP = "call (warm, no grant)", "call (cold, grant)", "step (batch of 30)"
AUDIT_COPIES = 3  # in the table and in two indexes


@dataclass(frozen=True, slots=True)
class Line:
    """One part of the bound."""

    what: str
    arithmetic: str
    usage: Usage


def worst_hour_table() -> str:
    """Return the tables of an hour of a user and of a day of an organization, for docs/costs.md."""
    hour, day = lines(hours=1, users=1), lines(hours=DAY_HOURS)
    return "\n".join(
        (_table("an hour of a user, at most", hour), _table("a day of an organization with any number of users", day))
    )


def worst_dollars(parts: list[Line]) -> float:
    """Return the dollars of all lines."""
    return sum(dollars(total(line.usage for line in parts)).values())


def measured(column: str) -> Usage:
    """Return the amounts of one call or step, as the table of measured costs has them."""
    lines = [line.strip("|\n").split("|") for line in COSTS.read_text("utf-8").splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in cells] for cells in lines]
    keys = {f"{price.name}: {price.unit}": key for key, price in prices().items()}
    head = next(cells for cells in rows if cells[0] == "of one")
    amounts = {cells[0]: cells[head.index(column)] for cells in rows if cells[0] in keys}
    return {keys[name]: float(amount.replace(",", "")) for name, amount in amounts.items() if amount}


def _per_use(column: str, count: int) -> Usage:
    """Return what calls or steps use beside their time and their bytes, which other lines bound."""
    return {key: amount * count for key, amount in measured(column).items() if key not in BOUND_BY_OTHER_LINES}


def lines(*, hours: int, users: int = 0) -> list[Line]:
    """Return the parts of the bound for some hours of so many users, or of any number of them."""
    template = read({})
    limits = {name: int(value) for name, value in template.intrinsics.parameters.items() if str(value).isdigit()}
    places, seconds = limits["OrganizationConcurrency"], hours * HOUR_SECONDS
    requests = limits["RequestRate"] * seconds
    of_user = limits["UserRequests"] * 60 * hours * users if users else limits["DayCalls"]
    calls, steps = min(of_user, limits["DayCalls"]), min(limits["BatchSteps"], of_user * 100)
    programs = min(limits["DayProgramSeconds"], places * seconds)
    sent = limits["DayMegabytes"] * BYTES_PER_MEGABYTE
    memory, runner = _memory(template, "StepRunnerFunction"), _memory(template, "ProgramRunnerFunction")
    broker = _memory(template, "TokenBrokerFunction")
    rows = ROWS_PER_WRITE * (calls + steps)
    row_bytes = size(serialize(typical_row())) + INDEX_OVERHEAD_BYTES
    months = limits["AuditDays"] / DAYS_OF_A_MONTH
    batches = min(calls, steps)
    return [
        Line(
            "requests, refused ones among them",
            f"{limits['RequestRate']} a second x {seconds:,} s",
            {"http_api_request": requests, "lambda_request": requests}
            | {key: measured(REFUSAL)[key] * requests for key in ("lambda_gb_second", "logs_byte")},
        ),
        Line(
            "places: functions that run, each with the broker beside it",
            f"{places} x {seconds:,} s x ({memory:g} + {broker:g} GB)",
            {"lambda_gb_second": places * seconds * (memory + broker)},
        ),
        Line("programs", f"{programs:,} s x {runner:g} GB", {"lambda_gb_second": programs * runner}),
        Line("calls, each cold and of another account", f"{calls:,}", _per_use(CALL, calls)),
        Line("steps of batches", f"{steps:,}", _per_use(STEP, steps)),
        Line(
            "executions of machines",
            f"{batches:,}, and {places} x {seconds:,} s x {STATES_GB:g} GB",
            {"states_request": batches, "states_gb_second": places * seconds * STATES_GB},
        ),
        Line("bytes sent", f"{sent:,}", {"out_byte": sent}),
        Line(
            f"audit rows, kept {limits['AuditDays']} days",
            f"{ROWS_PER_WRITE} x ({calls:,} + {steps:,})",
            {
                "dynamodb_gb_month": rows * row_bytes * AUDIT_COPIES / 2**30 * months,
                "pitr_gb_month": rows * row_bytes / 2**30 * months,
            },
        ),
    ]


def _memory(template: Template, function: str) -> float:
    """Return the GB of a function's memory."""
    return next(one.memory_mb for one in template.functions if one.id == function) / 1024


def _table(head: str, parts: list[Line]) -> str:
    rows = [[part.what, part.arithmetic, dollar_text(sum(dollars(part.usage).values()))] for part in parts]
    return table([head, "amount", "dollars"], [*rows, ["**together**", "", f"**{dollar_text(worst_dollars(parts))}**"]])
