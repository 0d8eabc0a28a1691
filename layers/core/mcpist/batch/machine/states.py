"""The parts that states of all machines share: retries, and what a state passes on.

Reference: https://states-language.net/spec.html
"""

from typing import Any

type Asl = dict[str, Any]
"""A part of a definition."""

JITTER = {"BackoffRate": 2, "MaxDelaySeconds": 16, "JitterStrategy": "FULL"}

RETRY_BUSY = {
    "ErrorEquals": ["StepBusy"],
    "IntervalSeconds": 1,
    "BackoffRate": 1.5,
    "MaxDelaySeconds": 5,
    "MaxAttempts": 20,
}
"""Another execution runs the step. Its claim ends at the latest with the function's timeout; 88 s are longer."""

RETRY_THROTTLED = {
    "ErrorEquals": ["Lambda.TooManyRequestsException", "StepWaits"],
    "IntervalSeconds": 1,
    "MaxAttempts": 60,
    **JITTER,
}
"""Nothing has run: the account's or the organization's executions are all in use.

Waiting may take minutes: 60 attempts last longer than an execution, after which the batch continues in another one.
"""

RETRY_FAULT = {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 11, **JITTER}
"""A fault of Lambda or a store, a crash or a timeout, by any name: the step's claim makes every retry safe.

Full jitter waits half of each delay on average: 63 s in all, longer than the timeout of a sandbox that does not answer.
"""

RETRY = [RETRY_BUSY, RETRY_THROTTLED, RETRY_FAULT]

RETRY_LOST = [
    {"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxDelaySeconds": 8, "MaxAttempts": 12}
]
"""Settling a lost step is quick and repeatable, so every error is retried, for 79 s: also longer than a claim."""

STOP_STATE = {"Type": "Pass", "Parameters": {"batch.$": "$.batch", "go": {}}, "End": True}
"""The end of a branch whose next step another branch enters, or whose last step could not be settled."""

PAYLOAD_OUTPUT = {"OutputPath": "$.Payload"}
"""The step runner's response `{batch, go}` becomes the whole state."""

EXECUTION_CONTEXT = {
    "retry.$": "$$.State.RetryCount",
    "execution.$": "$$.Execution.Id",
    "started.$": "$$.Execution.StartTime",
    "machine.$": "$$.StateMachine.Id",
}
"""What the step runner needs to know about the execution that calls it."""

COLLECT_GO = {"ResultSelector": {"branches.$": "$[*].go"}, "ResultPath": "$.go"}
"""After a fork: every branch ends with a `go`, at the branch's place in this list."""


def catch(next_state: str) -> Asl:
    """Return the rule by which any error that is not retried leads to a state."""
    return {"ErrorEquals": ["States.ALL"], "ResultPath": "$.lost", "Next": next_state}
