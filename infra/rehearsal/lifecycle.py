"""The life of a stack: created, changed, broken and rolled back, deleted."""

import shlex
import sys
import threading

from infra.local.login import LocalLogin
from infra.local.login_page import Person
from infra.rehearsal.account import Stack, resources
from infra.rehearsal.engine import Engine
from infra.rehearsal.release import make_deploy
from infra.rehearsal.report import act, expect

CONNECT_CLIENT = "connect"


def rehearse(engine: Engine, *, hold: bool = False) -> None:
    """Create a stack, use it, change it and delete it; if `hold` is set, only serve it until Ctrl-C."""
    stack, before = Stack(engine), resources(engine)
    with LocalLogin([Person("ada", "Ada Admin", "ada@example.com", "admin")], audience="") as login:
        created(stack, f"Issuer={login.issuer}", f"ConnectClientId={CONNECT_CLIENT}")
        if hold:
            _serve(stack, login)
            return
        deleted(stack, before)


def created(stack: Stack, *parameters: str) -> None:
    """Deploy this project for the first time."""
    with act("make deploy creates the stack without a question"):
        outcome = make_deploy(stack.engine, *parameters)
        expect(outcome.code == 0, outcome.end)
        expect(stack.status == "CREATE_COMPLETE", stack.status)
    with act("live of every function runs the first version"):
        live = stack.check_live()
        expect(live, "the stack has no functions")
        wrong = [id_ for id_, one in live.items() if one["Version"] != "1"]
        expect(not wrong, f"not at version 1: {wrong}")
    with act("the outputs name what was created"):
        outputs, found = stack.outputs, resources(stack.engine)
        expect(("table", outputs["DirectoryTable"]) in found, outputs)
        expect(("bucket", outputs["FilesBucketName"]) in found, outputs)


def deleted(stack: Stack, before: set[tuple[str, str]]) -> None:
    """Delete the stack, as `sam delete` does."""
    with act("deleting the stack keeps the stores and the keys, and nothing else"):
        stores = {name for name in resources(stack.engine) if name[0] in {"table", "bucket", "key"}}
        stack.delete()
        left = resources(stack.engine) - before
        expected = {name for name in stores - before if "-Ledger-" not in name[1]}
        expect(left == expected, f"left: {sorted(left - expected)}, missing: {sorted(expected - left)}")


def _serve(stack: Stack, login: LocalLogin) -> None:
    """Print the variables with which another shell reaches the engine, and wait for Ctrl-C."""
    url = stack.outputs["McpUrl"]
    own = {"URL": url, "TOKEN": login.mint("ada", audience=url, expires_in=86_400), "ISSUER": login.issuer}
    for name, value in {**stack.engine.client_environment, **own}.items():
        sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
    sys.stdout.flush()
    threading.Event().wait()
