"""Metrics: all that the doors count, and how it is written: lines in CloudWatch's embedded metric format.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Metric:
    """Its name and unit in CloudWatch, what it counts, and the dimension that divides it, where one does.

    A dimension's values are few and known: each of them is a metric that is paid for.
    """

    name: str
    unit: Literal["Count", "Milliseconds"]
    description: str
    dimension: str = ""


CALLS = Metric("Calls", "Count", "tools that ran, for a call or a step, as the audit has them")
LATENCY = Metric(
    "Latency", "Milliseconds", "how long a tool took, with its credential and all that its service was asked"
)
ERRORS = Metric("Errors", "Count", "errors that were answered, and those that steps ended with", "code")
TOKENS_BEFORE = Metric("TokensBefore", "Count", "tokens of the JSON that tools brought, before rendering: an estimate")
TOKENS_AFTER = Metric("TokensAfter", "Count", "tokens of the same after rendering: an estimate")
BATCH_STEPS = Metric("BatchSteps", "Count", "steps of batches that settled", "outcome")
REFRESHES = Metric("Refreshes", "Count", "access tokens that were renewed")
REFRESH_FAILURES = Metric("RefreshFailures", "Count", "access tokens that could not be renewed")
CONNECT_FAILURES = Metric("ConnectFailures", "Count", "accounts that people tried to connect, in vain")
INTEGRITY_FAILURES = Metric("IntegrityFailures", "Count", "stored tokens that did not open where they stand")
AUDIT_ROWS_LOST = Metric("AuditRowsLost", "Count", "audit rows that could not be written after the fact")

METRICS = (
    CALLS,
    LATENCY,
    ERRORS,
    TOKENS_BEFORE,
    TOKENS_AFTER,
    BATCH_STEPS,
    REFRESHES,
    REFRESH_FAILURES,
    CONNECT_FAILURES,
    INTEGRITY_FAILURES,
    AUDIT_ROWS_LOST,
)

type MetricTotals = dict[tuple[Metric, str], float]
"""What has been counted of each metric, and of each value of its dimension."""


def write(counted: Mapping[tuple[Metric, str], float], *, correlation: str) -> None:
    """Print one line for all metrics without a dimension, and one for each value of one that has one."""
    from aws_lambda_powertools.metrics import EphemeralMetrics  # the command line counts nothing, and need not wait

    for dimension, value in dict.fromkeys((metric.dimension, by) for metric, by in counted):
        line = EphemeralMetrics()
        if dimension:
            line.add_dimension(dimension, value)
        line.add_metadata("correlation_id", correlation)
        for (metric, by), total in counted.items():
            if (metric.dimension, by) == (dimension, value):
                line.add_metric(metric.name, metric.unit, total)
        line.flush_metrics()
