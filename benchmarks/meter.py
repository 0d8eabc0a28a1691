"""AWS's bill for a piece of work on the embedded AWS: requests are counted and functions are timed."""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from benchmarks.prices import Usage, total
from benchmarks.usage import Tables, billed
from infra.local.deployment import LocalDeployment
from infra.local.template import Function
from mcpist.aws.attributes import Item
from tests.traffic import AwsRequest, HookPhase, traffic_of

# Assumed, not measured: Lambda's own log lines for an invocation, and a request to a service.
PLATFORM_LOG_BYTES, SERVICE_REQUEST_BYTES = 700, 1024
EXECUTION_GIGABYTES = 0.0625  # the minimum that is billed for an execution, which ours do not exceed
# The record of an Invoke has its sender and not its target.
TARGETS = {
    "client": "McpEndpointFunction",
    "McpEndpointFunction": "TokenBrokerFunction",
    "StepRunnerFunction": "TokenBrokerFunction",
    "states": "StepRunnerFunction",
}
# Other functions work beside it: the janitor, and who looks for due automations and events.
COUNTED = {*TARGETS.values(), "states"}


@dataclass
class Stopwatch:
    """A hook that times every invocation, as its sender sees it."""

    began: dict[int, float] = field(default_factory=dict)
    took: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, request: AwsRequest, moment: HookPhase) -> None:
        """Record when an invocation begins and ends."""
        if request.operation != "Invoke":
            return
        now = time.perf_counter()
        if moment == "before":
            self.began[id(request)] = now
        else:
            self.took.append((TARGETS[request.function or request.caller], now - self.began.pop(id(request))))


@dataclass(frozen=True)
class Meter:
    """Measures work in a deployment as AWS would bill it."""

    deployment: LocalDeployment

    def usage(self, work: Callable[[], int], *, service_calls: int) -> Usage:
        """Return the usage of a piece of work, which returns the bytes of its answers."""
        aws = self.deployment.aws
        before, logged = set(self._sandboxes()), self._logged()
        traffic_of(aws).requests.clear()
        traffic_of(aws).on_request = stopwatch = Stopwatch()
        out = work()
        executions = list(self._executions())
        traffic_of(aws).on_request = None
        requests = [
            one
            for one in traffic_of(aws).requests
            if (one.function or one.caller) in COUNTED or (one.caller == "client" and one.operation == "Invoke")
        ]
        tables = self._tables()
        started = [function for id_, function in self._sandboxes().items() if id_ not in before]
        logs = self._logged() - logged + PLATFORM_LOG_BYTES * len(stopwatch.took)
        return total(
            [
                *(billed(request, tables) for request in requests),
                {"http_api_request": sum(one.caller == "client" for one in requests)},
                {"lambda_gb_second": sum(self._gigabyte_seconds(*one) for one in stopwatch.took)},
                {"lambda_restored_gb": sum(one.memory_mb / 1024 for one in started if one.snap_start)},
                {"states_request": len(executions)},
                {"states_gb_second": sum(math.ceil(one * 10) / 10 * EXECUTION_GIGABYTES for one in executions)},
                {"logs_byte": logs, "out_byte": out + service_calls * SERVICE_REQUEST_BYTES},
            ]
        )

    def ask(self, event: dict[str, Any]) -> str:
        """Invoke the endpoint with an event of the API, and return the body of its response."""
        name = self.deployment.aws.resource("McpEndpointFunction.Alias")
        answer = self.deployment.aws.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event))
        payload = json.load(answer["Payload"])
        assert payload.get("statusCode") == 200, payload
        assert '"isError":true' not in payload["body"], payload
        return str(payload["body"])

    def _executions(self) -> Iterator[float]:
        """Wait until all executions have ended, and yield the seconds of each."""
        states = self.deployment.aws.client("stepfunctions")
        started = [one.body for one in traffic_of(self.deployment.aws).requests if one.operation == "StartExecution"]
        # The first start of a new machine fails and is repeated with the same name.
        for machine, name in {(one["stateMachineArn"], one["name"]) for one in started}:
            execution = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
            with suppress(states.exceptions.ExecutionDoesNotExist):
                while (execution_state := states.describe_execution(executionArn=execution))["status"] == "RUNNING":
                    time.sleep(0.05)
                yield (execution_state["stopDate"] - execution_state["startDate"]).total_seconds()

    def _gigabyte_seconds(self, function: str, seconds: float) -> float:
        """Return the GB-seconds of an invocation, which is billed by the millisecond."""
        return math.ceil(seconds * 1000) / 1000 * self.deployment.aws.functions[function].function.memory_mb / 1024

    def _sandboxes(self) -> dict[str, Function]:
        """Return the functions of the live sandboxes, by the sandboxes' ids."""
        pools = self.deployment.aws.functions.values()
        return {sandbox.id: pool.function for pool in pools for sandbox in pool.sandboxes}

    def _logged(self) -> int:
        return sum(log.stat().st_size for log in self.deployment.aws.logs.iterdir())

    def _tables(self) -> Tables:
        dynamodb = self.deployment.aws.client("dynamodb").get_paginator("scan")
        tables = self.deployment.aws.template.tables
        items = {one.name: [*dynamodb.paginate(TableName=one.name).search("Items[]")] for one in tables}
        return Tables(items, {one.name: _usual_copies(one.definition, items[one.name]) for one in tables})


def _usual_copies(definition: Mapping[str, Any], items: Sequence[Item]) -> int:
    """Return the number of indexes whose key most items have."""
    keys = [index["KeySchema"][0]["AttributeName"] for index in definition.get("GlobalSecondaryIndexes", ())]
    return sum(2 * sum(key in item for item in items) > len(items) for key in keys)
