"""AWS as other processes reach it, and the broker's sandboxes as such processes, around one grant that rotates."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from pydantic import SecretStr

from infra.local.stack import EmbeddedAws
from mcpist.memory import forget_all
from tests.token_broker.authorization_server import AuthorizationServer, Minted
from tests.token_broker.conftest import ROOT
from token_broker.grants import grants
from token_broker.grants.grants import Account, Grant, Tokens

SERVICE = "example"
OWNER = "user#uma"
# Short enough for a test, long enough for hundreds of threads on two cores to keep their beat.
PACE = {"lease": 2.0, "beat": 0.4, "margin": 1.0, "wait": 40.0}


@dataclass
class Round:
    """What the threads of all sandboxes got: `VERSION TOKEN`, or an error's code; and how long each waited."""

    found: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class BrokerProcess:
    """A process of its own; it ends with the test, or is killed by it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.token_broker.sandbox"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            cwd=ROOT,
        )

    def send(self, **told: Any) -> None:
        """Begin a round."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(told) + "\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any] | None:
        """What came of it; None if the process was killed."""
        assert self.process.stdout
        line = self.process.stdout.readline()
        heard: dict[str, Any] | None = json.loads(line) if line else None
        return heard

    def kill(self) -> None:
        """SIGKILL, and gone."""
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        """No more rounds."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


@dataclass(frozen=True)
class BrokerStack:
    """The embedded AWS without functions, and the authorization server as the provider of the service `example`."""

    aws: EmbeddedAws
    server: AuthorizationServer
    environment: dict[str, str]

    def connect(self) -> Grant:
        """A new grant of uma's, as a person's consent would have brought it."""
        client = self.server.register("http://127.0.0.1:9/callback")
        self.aws.client("ssm").put_parameter(
            Name=f"{self.environment['OAUTH_PARAMETERS']}/{SERVICE}",
            Value=self.server.parameter(client),
            Type="SecureString",
            Overwrite=True,
        )
        if (old := self.grant()) is not None:
            grants.remove(old)
        return self.store(self.server.grant(client), client.id)

    def store(self, minted: Minted, client_id: str) -> Grant:
        """Keep a pair of tokens as version 1."""
        tokens = Tokens(SecretStr(minted.access_token), SecretStr(minted.refresh_token))
        account = Account(services=(SERVICE,), account_id="uma", account_name="Uma", client_id=client_id)
        return grants.save("acme", SERVICE, OWNER, account=account, tokens=tokens, replaces=0)

    def grant(self) -> Grant | None:
        """The grant as it stands."""
        return grants.read("acme", SERVICE, OWNER)

    def item(self, owner: str = OWNER) -> dict[str, Any] | None:
        """An item as DynamoDB keeps it."""
        key = {"pk": {"S": f"acme#{SERVICE}"}, "sk": {"S": owner}}
        found = self.aws.client("dynamodb").get_item(TableName=self.environment["GRANTS_TABLE"], Key=key)
        item: dict[str, Any] | None = found.get("Item")
        return item

    def age(self, what: Literal["access_expires_at", "updated_at"] = "access_expires_at") -> None:
        """Let the access token end, or be stored long ago: the item alone tells."""
        self.aws.client("dynamodb").update_item(
            TableName=self.environment["GRANTS_TABLE"],
            Key={"pk": {"S": f"acme#{SERVICE}"}, "sk": {"S": OWNER}},
            UpdateExpression=f"SET {what} = :past",
            ExpressionAttributeValues={":past": {"N": "1"}},
        )

    @contextmanager
    def sandboxes(self, count: int) -> Iterator[list[BrokerProcess]]:
        """So many processes."""
        made = [BrokerProcess(self.environment) for _ in range(count)]
        try:
            yield made
        finally:
            for sandbox in made:
                sandbox.close()

    def play(
        self, sandboxes: Sequence[BrokerProcess], *, threads: int, refused: int | None = None, **pace: float
    ) -> Round:
        """One round in all sandboxes at once."""
        for sandbox in sandboxes:
            sandbox.send(service=SERVICE, refused=refused, threads=threads, pace=PACE | pace)
        total = Round()
        for sandbox in sandboxes:
            heard = sandbox.receive()
            assert heard is not None
            total.found += heard["found"]
            total.seconds += heard["seconds"]
        return total


@contextmanager
def running_stack(server: AuthorizationServer) -> Iterator[BrokerStack]:
    """The stack while the context lasts; this process reaches it as its sandboxes do."""
    parameters = {"Issuer": "https://login.example.com", "PublicUrl": "{api_url}"}
    with EmbeddedAws(ROOT, parameters=parameters, only=()) as aws, pytest.MonkeyPatch.context() as monkeypatch:
        broker = next(one for one in aws.template.functions if one.id == "TokenBrokerFunction")
        # Hundreds of threads share two cores with the AWS that they ask.
        surroundings = {**broker.environment, **aws.environment, "STORE_SECONDS": "61"}
        for name, value in surroundings.items():
            monkeypatch.setenv(name, value)
        forget_all()
        yield BrokerStack(aws, server, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    forget_all()
