"""What a piece of work on the embedded AWS would be billed as: its requests are counted, its functions are timed."""

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from infra.bench.prices import Usage, total
from infra.bench.usage import Tables, billed
from infra.local.aws_requests import AwsRequest, HookPhase
from infra.local.deployment import LocalDeployment
from infra.local.template import Function

# Taken, not measured: what Lambda itself writes to the log for an invocation, and what a service is sent.
PLATFORM_LOG_BYTES, SERVICE_REQUEST_BYTES = 700, 1024
EXECUTION_GIGABYTES = 0.0625  # the least that an execution is billed for: ours need no more
# An Invoke's record has its sender, not its target.
TARGETS = {
    "client": "McpEndpointFunction",
    "McpEndpointFunction": "TokenBrokerFunction",
    "StepRunnerFunction": "TokenBrokerFunction",
    "states": "StepRunnerFunction",
}


@dataclass
class Stopwatch:
    """A hook that times every invocation, for as long as its sender waits for it."""

    began: dict[int, float] = field(default_factory=dict)
    took: list[tuple[str, float]] = field(default_factory=list)

    def __call__(self, request: AwsRequest, moment: HookPhase) -> None:
        """Note when a function begins and ends."""
        if request.operation != "Invoke":
            return
        now = time.perf_counter()
        if moment == "before":
            self.began[id(request)] = now
        else:
            self.took.append((TARGETS[request.function or request.caller], now - self.began.pop(id(request))))


@dataclass(frozen=True)
class Meter:
    """What is done in a deployment, as AWS would bill it."""

    deployment: LocalDeployment

    def usage(self, work: Callable[[], int], *, service_calls: int) -> Usage:
        """What a work uses that gives the bytes of its answers, and asks a service so often."""
        aws = self.deployment.aws
        before, logged = set(self._sandboxes()), self._logged()
        aws.requests.clear()
        aws.on_request = stopwatch = Stopwatch()
        out = work()
        executions = list(self._executions())
        aws.on_request = None
        requests = [one for one in aws.requests if one.caller != "client" or one.operation == "Invoke"]
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
        """Invoke the endpoint with what the API sends it, and give the body that it answers."""
        name = self.deployment.aws.resource("McpEndpointFunction.Alias")
        answer = self.deployment.aws.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event))
        payload = json.load(answer["Payload"])
        assert payload.get("statusCode") == 200, payload
        assert '"isError":true' not in payload["body"], payload
        return str(payload["body"])

    def _executions(self) -> Iterator[float]:
        """Wait until all executions have ended, and give the seconds of each."""
        states = self.deployment.aws.client("stepfunctions")
        started = [one.body for one in self.deployment.aws.requests if one.operation == "StartExecution"]
        # The first start of a new machine fails, and is repeated by the same name.
        for machine, name in {(one["stateMachineArn"], one["name"]) for one in started}:
            execution = f"{machine.replace(':stateMachine:', ':execution:')}:{name}"
            with suppress(states.exceptions.ExecutionDoesNotExist):
                while (told := states.describe_execution(executionArn=execution))["status"] == "RUNNING":
                    time.sleep(0.05)
                yield (told["stopDate"] - told["startDate"]).total_seconds()

    def _gigabyte_seconds(self, function: str, seconds: float) -> float:
        """The time of an invocation, which is billed by the millisecond."""
        return math.ceil(seconds * 1000) / 1000 * self._functions()[function].memory_mb / 1024

    def _functions(self) -> dict[str, Function]:
        return {one.id: one for one in self.deployment.aws.template.functions}

    def _sandboxes(self) -> dict[str, Function]:
        """The functions of the sandboxes that live."""
        pools = self.deployment.aws.functions.values()
        return {sandbox.id: pool.function for pool in pools for sandbox in pool.sandboxes}

    def _logged(self) -> int:
        return sum(log.stat().st_size for log in self.deployment.logs.iterdir())

    def _tables(self) -> Tables:
        dynamodb = self.deployment.aws.client("dynamodb").get_paginator("scan")
        tables = self.deployment.aws.template.tables
        return Tables(
            {one.name: [*dynamodb.paginate(TableName=one.name).search("Items[]")] for one in tables},
            {one.name: len(one.definition.get("GlobalSecondaryIndexes", ())) for one in tables},
        )
