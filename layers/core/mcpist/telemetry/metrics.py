"""Metrics: everything that the doors count, written as lines in CloudWatch's embedded metric format.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from mcpist.telemetry.log_lines import write_line


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """A metric of CloudWatch; each is one of the constants below."""

    name: str
    unit: Literal["Count", "Milliseconds", "Bytes"]
    description: str
    dimension: str = ""  # of few and known values, since each of them costs as much as a metric


CALLS = Metric("Calls", "Count", "tools that ran for a call or a step, as in the audit table")
LATENCY = Metric("Latency", "Milliseconds", "duration of a tool, with its credential and all requests to its service")
ERRORS = Metric("Errors", "Count", "errors that were answered, and errors of steps", "code")
TOKENS_BEFORE = Metric("TokensBefore", "Count", "estimated tokens of the JSON that tools returned, before rendering")
TOKENS_AFTER = Metric("TokensAfter", "Count", "estimated tokens of the same results after rendering")
BATCH_STEPS = Metric("BatchSteps", "Count", "steps of batches that settled", "outcome")
REFRESHES = Metric("Refreshes", "Count", "access tokens that were refreshed")
REFRESH_FAILURES = Metric("RefreshFailures", "Count", "access tokens that could not be refreshed")
CONNECT_FAILURES = Metric("ConnectFailures", "Count", "failed attempts to connect an account")
INTEGRITY_FAILURES = Metric("IntegrityFailures", "Count", "stored tokens and files that failed their integrity check")
AUDIT_ROWS_LOST = Metric("AuditRowsLost", "Count", "audit rows that could not be written after the fact")
DAY_LIMIT_WARNINGS = Metric(
    "DayLimitWarnings", "Count", "limits of an organization's day that became near (80 %) or reached", "measure"
)
PROGRAM_TIME = Metric("ProgramTime", "Milliseconds", "duration of a tool that is a program, with its files", "command")
PROGRAM_FILES = Metric("ProgramFiles", "Count", "files that programs left", "command")
PROGRAM_INPUT_BYTES = Metric("ProgramInputBytes", "Bytes", "size of the files and texts that programs read", "command")
PROGRAM_TOKENS_SAVED = Metric(
    "ProgramTokensSaved", "Count", "estimated tokens of what programs left, without those of the answers", "command"
)
PROGRAM_ERRORS = Metric("ProgramErrors", "Count", "runs of programs that failed", "code")

type MetricTotals = dict[tuple[Metric, str], float]
"""The total of each metric and value of its dimension."""


def write(counted: Mapping[tuple[Metric, str], float], *, correlation: str, trace: str = "") -> None:
    """Print one line for all metrics without a dimension, and one for each value of a dimension."""
    environment = os.environ
    if not counted or environment.get("POWERTOOLS_METRICS_DISABLED") == "true":
        return
    common = {"service": environment["POWERTOOLS_SERVICE_NAME"], "correlation_id": correlation, "trace_id": trace}
    namespace, now = environment["POWERTOOLS_METRICS_NAMESPACE"], round(time.time() * 1000)
    # A line has one set of dimensions, so each value of one needs a line of its own.
    by_dimension: dict[tuple[str, str], dict[Metric, float]] = {}
    for (metric, by), total in counted.items():
        by_dimension.setdefault((metric.dimension, by), {})[metric] = total
    for (dimension, value), totals in by_dimension.items():
        directive = {
            "Namespace": namespace,
            "Dimensions": [["service", dimension] if dimension else ["service"]],
            "Metrics": [{"Name": metric.name, "Unit": metric.unit} for metric in totals],
        }
        write_line(
            {
                "_aws": {"Timestamp": now, "CloudWatchMetrics": [directive]},
                **common,
                **({dimension: value} if dimension else {}),
                **{metric.name: [float(total)] for metric, total in totals.items()},
            }
        )
