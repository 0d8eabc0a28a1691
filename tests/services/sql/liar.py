"""A database that lies: a few messages of its protocol over a socket, without TLS where not said otherwise."""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any, ClassVar, Self

import pytest

from mcpist.errors import McpistError
from mcpist_services.sql.address import DatabaseKind
from mcpist_services.sql.database import Database

PASSWORD = "a secret"


def soon() -> float:
    return time.monotonic() + 2


class Liar:
    """A server that sends what it is told to, first its greeting, then after each of the client's messages."""

    kind: ClassVar[DatabaseKind]
    greeting: bytes = b""

    def __init__(self, *answers: bytes | Callable[[bytes], bytes]) -> None:
        self.answers = answers
        self.received = b""
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        self.thread.join(5)

    def _serve(self) -> None:
        connection, _ = self.listener.accept()
        with closing(connection), suppress(OSError):
            connection.settimeout(5)
            connection.sendall(self.greeting)
            for answer in self.answers:
                read = connection.recv(65536)
                self.received += read
                connection.sendall(answer(read) if callable(answer) else answer)
            while read := connection.recv(65536):
                self.received += read

    def open(self, **parameters: str) -> Database:
        parameters = {"sslmode": "disable"} | parameters
        query = "&".join(f"{name}={value}" for name, value in parameters.items())
        scheme, password = self.kind.scheme, PASSWORD.replace(" ", "%20")
        return Database(self.kind, f"{scheme}://u:{password}@127.0.0.1:{self.port}/d?{query}")

    def ask(self, **parameters: str) -> Any:
        return self.open(**parameters).read("select 1", limit=5, deadline=soon())

    def refusal(self, kind: type[McpistError], **parameters: str) -> str:
        with pytest.raises(kind) as caught:
            self.ask(**parameters)
        assert PASSWORD not in str(caught.value.details)
        assert PASSWORD.encode() not in self.received
        return str(caught.value.details.get("problem"))
