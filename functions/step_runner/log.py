"""The log: one line when a step is entered and one when it is left, by the id of its batch's request."""

from typing import Any

from aws_lambda_powertools import Logger

from mcpist.aws.clients import AwsError
from mcpist.batch.execution.settling import StepAttempt
from mcpist.batch.ledger.records import Header
from mcpist.telemetry.invocation import bind_correlation

LOGGED_FIELDS = ("batch", "step", "element", "gather", "retry", "lost")

logger = Logger()


class StepLog:
    """What the log says about one attempt."""

    def __init__(self, attempt: StepAttempt, event: dict[str, Any]) -> None:
        self.fields = {"request": attempt.request_id} | {name: event[name] for name in LOGGED_FIELDS if name in event}

    def report_entered(self, head: Header) -> None:
        """The step is entered, as the header now tells of which batch, and so by which id."""
        bind_correlation(head.correlation)
        logger.info("step entered", extra=self.fields)

    def report_left(self, opened: list[str]) -> None:
        """The step is left, and opened others."""
        logger.info("step left", extra={**self.fields, "opened": opened})

    def report_busy(self) -> None:
        """Another sandbox has the step."""
        logger.info("step busy", extra=self.fields)

    def report_failed(self, error: Exception) -> None:
        """The step ends without an answer, perhaps before it was entered; Step Functions comes back."""
        code = {"aws_code": error.code} if isinstance(error, AwsError) else {}
        logger.error("step failed", extra={**self.fields, "error": type(error).__name__, **code})
