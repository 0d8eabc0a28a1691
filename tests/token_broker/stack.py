"""AWS as other processes reach it, and the broker's sandboxes as such processes, around one grant that rotates."""

import multiprocessing
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from pydantic import SecretStr

from infra.local.stack import EmbeddedAws, StackOptions
from mcpist.memory import forget_all
from tests.token_broker import sandbox
from tests.token_broker.authorization_server import AuthorizationServer, Minted
from tests.token_broker.conftest import ROOT
from token_broker.grants import grants
from token_broker.grants.grants import GrantedAccount, StoredGrant, Tokens

SERVICE = "example"
OWNER = "user#uma"
# Short enough for a test, long enough for hundreds of threads on two cores to keep their beat.
PACE = {"lease": 2.0, "beat": 0.4, "margin": 1.0, "wait": 40.0}

# Processes that are forked from one that has imported all they need.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([sandbox.__name__])


@dataclass
class Round:
    """What the threads of all sandboxes got: `VERSION TOKEN`, or an error's code; and how long each waited."""

    found: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


class BrokerProcess:
    """A process of its own; it ends with the test, or is killed by it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.connection, theirs = FORKS.Pipe()
        self.process = FORKS.Process(target=sandbox.serve, args=(theirs, environment))
        self.process.start()
        theirs.close()

    def send(self, **request: Any) -> None:
        """Begin a round."""
        self.connection.send(request)

    def receive(self) -> dict[str, Any] | None:
        """What the round's threads got; None if the process was killed."""
        try:
            played: dict[str, Any] = self.connection.recv()
        except (EOFError, ConnectionResetError):
            return None
        return played

    def kill(self) -> None:
        """Kill it, and wait until it has ended."""
        self.process.kill()
        self.process.join()

    def close(self) -> None:
        """Let it end: there are no more rounds."""
        self.connection.close()
        self.process.join()


@dataclass(frozen=True)
class BrokerStack:
    """The embedded AWS without functions, and the authorization server as the provider of the service `example`."""

    aws: EmbeddedAws
    server: AuthorizationServer
    environment: dict[str, str]

    def connect(self) -> StoredGrant:
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

    def store(self, minted: Minted, client_id: str) -> StoredGrant:
        """Keep a pair of tokens as version 1."""
        tokens = Tokens(SecretStr(minted.access_token), SecretStr(minted.refresh_token))
        account = GrantedAccount(services=(SERVICE,), account_id="uma", account_name="Uma", client_id=client_id)
        return grants.save("acme", SERVICE, OWNER, account=account, tokens=tokens, replaces=0)

    def grant(self) -> StoredGrant | None:
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
            for one in made:
                one.close()

    def play(
        self, sandboxes: Sequence[BrokerProcess], *, threads: int, refused: int | None = None, **pace: float
    ) -> Round:
        """One round in all sandboxes at once."""
        for one in sandboxes:
            one.send(service=SERVICE, refused=refused, threads=threads, pace=PACE | pace)
        total = Round()
        for one in sandboxes:
            played = one.receive()
            assert played is not None
            total.found += played["found"]
            total.seconds += played["seconds"]
        return total


@contextmanager
def running_stack(server: AuthorizationServer) -> Iterator[BrokerStack]:
    """The stack while the context lasts; this process reaches it as its sandboxes do."""
    parameters = {"Issuer": "https://login.example.com", "PublicUrl": "{api_url}"}
    with (
        EmbeddedAws(StackOptions(root=ROOT, parameters=parameters, only=())) as aws,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        broker = next(one for one in aws.template.functions if one.id == "TokenBrokerFunction")
        # Hundreds of threads share two cores with the AWS that they ask.
        surroundings = {**broker.environment, **aws.environment, "STORE_SECONDS": "61"}
        for name, value in surroundings.items():
            monkeypatch.setenv(name, value)
        forget_all()
        yield BrokerStack(aws, server, {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    forget_all()
