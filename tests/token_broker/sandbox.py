"""A sandbox of the broker as a process of its own, in which many threads resolve at the same moment.

A round is `{service, refused, threads, pace}`, and its answer what each thread got. The first round finds the clients
of AWS made, and each finds nothing in memory.
"""

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from mcpist.aws import clients
from mcpist.caller import Caller, Subject
from mcpist.errors import McpistError, StoreUnavailable
from mcpist.memory import forget_entries
from token_broker.grants.grant import AccountChoice
from token_broker.providers import apps
from token_broker.resolving import credentials
from token_broker.resolving.lease import LeaseTiming

UMA = Caller("acme", "uma", Subject("https://login.example.com", "uma"), "user", ())


def resolve(barrier: threading.Barrier, request: dict[str, Any]) -> tuple[str, float]:
    """The version and its token, or the error's code, and the seconds until it was there.

    A store that is too slow on a loaded machine is a retryable error: then it is tried again, as callers do.
    """
    pace = LeaseTiming(**request["pace"])
    barrier.wait()
    began = time.monotonic()
    while True:
        try:
            credential = credentials.resolve(
                UMA, AccountChoice(request["service"]), refused=request["refused"], pace=pace
            )
            return f"{credential.version} {credential.token}", time.monotonic() - began
        except McpistError as error:
            if not isinstance(error, StoreUnavailable) or time.monotonic() > began + pace.wait:
                return error.code, time.monotonic() - began


def prepare() -> None:
    """Make the clients of AWS once, before threads would make them in fifties."""
    clients.client("dynamodb")
    clients.client("kms")
    clients.client("ssm", **apps.SSM_CLIENT_OPTIONS)


def play(request: dict[str, Any]) -> dict[str, Any]:
    """Play one round."""
    forget_entries()
    barrier = threading.Barrier(request["threads"])
    with ThreadPoolExecutor(request["threads"]) as pool:
        ended = list(pool.map(lambda _: resolve(barrier, request), range(request["threads"])))
    return {"found": [found for found, _ in ended], "seconds": [seconds for _, seconds in ended]}


def serve(connection: Connection, environment: dict[str, str]) -> None:
    """Play rounds until the other end closes."""
    os.environ.clear()
    os.environ |= environment
    prepare()
    with suppress(EOFError):
        while True:
            connection.send(play(connection.recv()))
