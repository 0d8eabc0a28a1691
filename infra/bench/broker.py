"""What the token broker costs: a resolve's requests and CPU, its import, and the wait while another one refreshes."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infra.local.deployment import ORGANIZATION, ROLE, ROOT, USER, LocalDeployment
from infra.local.stack import EmbeddedAws
from infra.local.template import Function

if TYPE_CHECKING:
    from tests.token_broker.stack import BrokerProcess, BrokerStack

ROUNDS = 10
SERVICE = "stub"
FUNCTION = "TokenBrokerFunction"
SECOND_US = 1_000_000
# So many sandboxes need the token at the same moment, and so late does its provider answer.
SANDBOXES = 8
REFRESH_DELAY_SECONDS = 1.0

type Row = tuple[str, str, str]


def rows(deployment: LocalDeployment, folder: Path) -> Iterator[Row]:
    """What a resolve costs, in a deployment where the user has connected the stub's service."""
    yield from requests(deployment)
    yield from sandboxes(deployment, folder)


def requests(deployment: LocalDeployment) -> Iterator[Row]:
    """AWS requests of a resolve, counted at the front: in a cold sandbox, then in the same one."""
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
    """CPU of the handler's import against boto3's, alternating; and of warm resolves through the whole handler."""
    message = folder / "resolve.json"
    message.write_text(json.dumps(_message(deployment, "resolve", service=SERVICE)), "utf-8")
    commands = {"ours": ("token_broker.handler", str(message)), "boto3": ("boto3",)}
    environment = _environment(deployment, folder)
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
    yield "warm resolves for each second of CPU of one sandbox, through the whole door", speed, "1,000 or more"


def contention() -> Iterator[Row]:
    """How long sandboxes wait for a token that one of them refreshes at a real authorization server.

    It has an AWS of its own, and a process runs one at a time: the deployment must be closed.
    """
    from tests.token_broker.authorization_server import running
    from tests.token_broker.stack import running_stack

    with running() as server, running_stack(server) as stack:
        # The tests' stack is more patient with its stores than what is deployed.
        patience = _function(stack.aws).environment["STORE_SECONDS"]
        deployed = replace(stack, environment={**stack.environment, "STORE_SECONDS": patience})
        deployed.connect()
        with deployed.sandboxes(SANDBOXES) as sandboxes:
            for sandbox in sandboxes:  # each imports now what a snapshot holds
                _refresh(deployed, [sandbox], 0)
            yield _waiting([_refresh(deployed, sandboxes, REFRESH_DELAY_SECONDS) for _ in range(ROUNDS)])


def _waiting(rounds: Iterable[list[float]]) -> Row:
    """The waits of who did not ask the provider.

    Nobody tells who did: without the fastest of a round the others cannot look better than they were.
    """
    waits = [(seconds, seconds - fastest) for fastest, *others in map(sorted, rounds) for seconds in others]
    worst, lag = (statistics.quantiles(some, n=20, method="inclusive")[-1] for some in zip(*waits, strict=True))
    return (
        f"wait of {SANDBOXES - 1} sandboxes for another one's refresh, against the provider's answer: 95th percentile",
        f"{worst / REFRESH_DELAY_SECONDS:.2f} ({worst:.2f} s : {REFRESH_DELAY_SECONDS:.2f} s), "
        f"{lag:.2f} s after the first",
        "",
    )


def _refresh(stack: "BrokerStack", sandboxes: Sequence["BrokerProcess"], answer: float) -> list[float]:
    """One round: the token has ended, and all need it."""
    from token_broker.resolving.lease import DEFAULT_LEASE_TIMING

    stack.server.reset()
    stack.server.steer(delay_seconds=answer)
    stack.age()
    played = stack.play(sandboxes, threads=1, **asdict(DEFAULT_LEASE_TIMING))
    assert len(set(played.found)) == len(stack.server.state.redeems) == 1, "not one redeem, one token"
    return played.seconds


def _requests(deployment: LocalDeployment, message: dict[str, Any]) -> Counter[str]:
    deployment.aws.requests.clear()
    _ask(deployment, message)
    return Counter(request.operation for request in deployment.aws.requests if request.function == FUNCTION)


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
    command = [sys.executable, "-m", "infra.bench.broker_sandbox", *arguments]
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    seen: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return seen


def _environment(deployment: LocalDeployment, folder: Path) -> dict[str, str]:
    """What a sandbox of the broker has around it, and where its bytecode stands."""
    function = _function(deployment.aws)
    return {
        **os.environ,
        **deployment.aws.environment,
        **function.environment,
        "PYTHONPATH": os.pathsep.join(map(str, (function.code, *function.layers, ROOT))),
        "PYTHONPYCACHEPREFIX": str(folder / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "",
    }


def _function(aws: EmbeddedAws) -> Function:
    return next(one for one in aws.template.functions if one.id == FUNCTION)
