"""The token endpoint in a cold sandbox, beside a bare function that sends the same kinds of requests to AWS.

Run as `python -m benchmarks.login ours|bare EVENT` it is such a sandbox: it answers one request, and prints its CPU.
"""

import base64
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

if TYPE_CHECKING:
    from benchmarks.report import Row
    from infra.local.deployment import LocalDeployment

ROUNDS = 7
FUNCTION = "LoginFunction"


def rows(deployment: "LocalDeployment", folder: Path) -> Iterator["Row"]:
    """Measure a token for the secret of a program, in fresh processes in turn."""
    from benchmarks.broker import sandbox_environment
    from infra.source import ROOT

    event, environment = folder / "token.json", sandbox_environment(deployment.aws, FUNCTION, folder)
    event.write_text(json.dumps(_token_request(deployment)), "utf-8")
    seen: dict[str, list[float]] = {"ours": [], "bare": []}
    for number in range(ROUNDS + 1):  # the first round writes the bytecode and does not count
        for which, found in seen.items():
            command = [sys.executable, "-m", "benchmarks.login", which, str(event)]
            done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
            if number:
                found.append(json.loads(done.stdout.splitlines()[-1])["cpu_ms"])
    ours, bare = (statistics.median(seen[which]) for which in ("ours", "bare"))
    name = "CPU of a cold token endpoint to its first token, beyond a bare function with the same requests to AWS"
    yield name, f"{ours - bare:.0f} ms ({ours:.0f} : {bare:.0f} ms)", "150 ms"


def _token_request(deployment: "LocalDeployment") -> dict[str, object]:
    """Return the request of a program that has been added for this."""
    import httpx2

    from infra.local.demo import ADMINISTRATOR, ROLE

    url, headers = deployment.aws.api_url, {"authorization": f"Bearer {deployment.token(ADMINISTRATOR)}"}
    program = {"user": "bench", "name": "Bench", "roles": [ROLE]}
    made = httpx2.post(f"{url}/v1/services", json=program, headers=headers, timeout=60, trust_env=False).json()
    proof = base64.b64encode(f"{made['client_id']}:{made['client_secret']}".encode()).decode()
    host = url.partition("//")[2]
    return {
        "version": "2.0",
        "rawPath": "/login/token",
        "rawQueryString": "",
        "headers": {"host": host, "authorization": f"Basic {proof}"},
        "requestContext": {"http": {"method": "POST"}, "requestId": "bench", "domainName": host},
        "body": urlencode({"grant_type": "client_credentials"}),
        "isBase64Encoded": False,
    }


def main(which: str, path: str) -> None:
    """Answer one request in this process."""
    event = json.loads(Path(path).read_text("utf-8"))
    _ours(event) if which == "ours" else _bare()
    print(json.dumps({"cpu_ms": time.process_time() * 1000}))


def _ours(event: dict[str, object]) -> None:
    from benchmarks.sandbox import Context
    from login.handler import handler

    answer = handler(event, Context())  # type: ignore[arg-type]
    assert answer["statusCode"] == 200, answer["body"]


def _bare() -> None:
    """Read an item and sign, by boto3 alone."""
    import boto3

    boto3.client("dynamodb").get_item(
        TableName=os.environ["LOGINS_TABLE"], Key={"pk": {"S": "client#bench"}, "sk": {"S": "client"}}
    )
    key = os.environ["LOGIN_KEYS"].split(",")[0]
    signed = boto3.client("kms").sign(KeyId=key, Message=b"bench", MessageType="RAW", SigningAlgorithm="ECDSA_SHA_256")
    assert signed["Signature"]


if __name__ == "__main__":
    main(*sys.argv[1:])
