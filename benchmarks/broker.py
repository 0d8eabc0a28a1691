"""The token broker's costs: AWS requests and CPU of a resolve, and CPU of importing its handler."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import Row
from infra.local.demo import ORGANIZATION, ROLE, USER
from infra.local.deployment import LocalDeployment
from infra.local.stack import EmbeddedAws
from infra.source import ROOT
from tests.traffic import traffic_of

ROUNDS = 10
SERVICE = "stub"
FUNCTION = "TokenBrokerFunction"
SECOND_US = 1_000_000


def rows(deployment: LocalDeployment, folder: Path) -> Iterator[Row]:
    """Measure a resolve, in a deployment where the user has connected the stub's service."""
    yield from requests(deployment)
    yield from sandboxes(deployment, folder)


def requests(deployment: LocalDeployment) -> Iterator[Row]:
    """Count the AWS requests of a resolve in a cold sandbox, and again in the same one."""
    ends = int(time.time()) + 600
    warrant = _ask(deployment, _message(deployment, "warrant", services=[SERVICE], expires_at=ends))["warrant"]
    by_warrant = {"proof": {"kind": "warrant", "value": warrant}}
    for name, message, aim in (
        ("`resolve` by a user's token", _message(deployment, "resolve", service=SERVICE), "3"),
        ("`resolve` by a batch's warrant", _message(deployment, "resolve", service=SERVICE) | by_warrant, ""),
    ):
        deployment.aws.functions[FUNCTION].stop_idle()
        cold, warm = (_requests(deployment, message) for _ in range(2))
        sent = ", ".join(f"{count} {operation}" for operation, count in sorted(cold.items()))
        yield f"AWS requests of a cold {name}", f"{cold.total()} ({sent})", aim
        yield f"AWS requests of a warm {name}", f"{warm.total()}", "0"


def sandboxes(deployment: LocalDeployment, folder: Path) -> Iterator[Row]:
    """Compare the CPU of importing the handler with boto3's, alternating; and measure warm resolves."""
    message = folder / "resolve.json"
    message.write_text(json.dumps(_message(deployment, "resolve", service=SERVICE)), "utf-8")
    commands = {"ours": ("token_broker.handler", str(message)), "boto3": ("boto3",)}
    environment = sandbox_environment(deployment.aws, FUNCTION, folder)
    seen: dict[str, list[dict[str, float]]] = {which: [] for which in commands}
    for number in range(ROUNDS + 1):  # the first round writes the bytecode and does not count
        for which, arguments in commands.items():
            found = _measured(arguments, environment)
            if number:
                seen[which].append(found)
    ours, bare = (statistics.median(found["import_ms"] for found in seen[which]) for which in commands)
    resolve = statistics.median(found["resolve_us"] for found in seen["ours"])
    imports = f"{ours / bare:.2f} ({ours:.0f} ms : {bare:.0f} ms)"
    yield "CPU of importing the broker's handler, against `import boto3` alone", imports, ""
    speed = f"{SECOND_US / resolve:,.0f} ({resolve:.0f} us each)"
    yield "warm resolves for each second of CPU of one sandbox, through the complete handler", speed, "1,000 or more"


def _requests(deployment: LocalDeployment, message: dict[str, Any]) -> Counter[str]:
    traffic_of(deployment.aws).requests.clear()
    _ask(deployment, message)
    return Counter(request.operation for request in traffic_of(deployment.aws).requests if request.function == FUNCTION)


def _ask(deployment: LocalDeployment, message: dict[str, Any]) -> dict[str, Any]:
    broker = deployment.aws.resource(f"{FUNCTION}.Alias")
    answer = deployment.aws.client("lambda").invoke(FunctionName=broker, Payload=json.dumps(message))
    payload: dict[str, Any] = json.load(answer["Payload"])
    assert "result" in payload, payload["error"]
    result: dict[str, Any] = payload["result"]
    return result


def _message(deployment: LocalDeployment, operation: str, **more: Any) -> dict[str, Any]:
    proof = {"kind": "jwt", "value": deployment.token(USER)}
    return {"operation": operation, "proof": proof, "organization": ORGANIZATION, "roles": [ROLE], **more}


def _measured(arguments: Iterable[str], environment: dict[str, str]) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.broker_sandbox", *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    seen: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seen


def sandbox_environment(aws: EmbeddedAws, id_: str, folder: Path) -> dict[str, str]:
    """Return the environment of a function's sandbox, whose bytecode is kept in a folder."""
    function = next(one for one in aws.template.functions if one.id == id_)
    return {
        **os.environ,
        **aws.environment,
        **function.environment,
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_LOG_LEVEL": function.log_level,
        "PYTHONPATH": os.pathsep.join(map(str, (function.code, *function.layers, ROOT))),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
