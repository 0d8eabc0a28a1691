"""Previews, the journal of changes, and undo: the requests and the CPU that they add, and a hundred undos.

`make bench ARGS="undo"` measures this part alone.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from multiprocessing import get_context
from typing import Any
from unittest.mock import patch

import httpx2

from benchmarks.report import Row
from infra.local.demo import ORGANIZATION, ROLE, USER
from infra.local.deployment import DeploymentOptions, LocalDeployment, operating, run_local_deployment
from infra.local.names import REGION
from infra.local.server import LoopbackResponse, LoopbackServer, listen
from mcpist.batch.execution.plan import plan
from mcpist.caller import Caller, Subject
from mcpist.files import access
from mcpist.people import directory
from mcpist.running.gate import ToolUse
from mcpist.running.preview import preview
from mcpist.tools.access.permissions import Permissions
from tests import members
from tests.core.batch.execution.undo_story import UMA
from tests.core.loopback import listening
from tests.core.running.tracker import Tracker, tracking
from tests.traffic import traffic_of

WRITES = 400
CHANGES = 100
ITEM = {"id": "7", "title": "old", "state": "open", "note": None}
PLAIN: Caller = replace(UMA, undoable=False)


def rows() -> Iterator[Row]:
    """Measure in this process against a service and a store of another one."""
    environment = {"LOCAL_SERVICES": "on", "AWS_REGION": REGION, "LEDGER_TABLE": "ledger", "AUDIT_TABLE": "audit"}
    environment |= {"AWS_ACCESS_KEY_ID": "ak", "AWS_SECRET_ACCESS_KEY": "sk", "AWS_LAMBDA_FUNCTION_NAME": "f"}
    with _other_process() as (tracker, store), patch.dict(os.environ, environment | {"AWS_ENDPOINT_URL": store}):
        yield _of_preview()
        yield _of_journal(tracker)
    yield _of_planning()
    with run_local_deployment(DeploymentOptions(parameters={"UserRequests": "10000"})) as deployment:
        yield from _of_undo(deployment)


@contextmanager
def _other_process() -> Iterator[tuple[Tracker, str]]:
    """Yield a service and a store's address, for which another process answers: nothing waits for Python's lock."""
    tracker, listener = Tracker(), listen("127.0.0.1", 0)
    tracker.items["7"] = dict(ITEM)

    def serve() -> None:
        with LoopbackServer(listener, lambda _: LoopbackResponse(200, (), b"{}")), listening(tracker.server):
            signal.pause()

    process = get_context("fork").Process(target=serve, daemon=True)
    process.start()
    try:
        yield tracker, f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        process.terminate()
        process.join()


def _of_preview() -> Row:
    with tracking() as tracker:
        tracker.items["7"] = dict(ITEM)
        use = ToolUse("tracker", "update_item", {"item_id": "7", "title": "new"}, "r1")
        preview(Permissions(PLAIN, tracker.catalogue), use, 20)
    return (
        "requests to the service of a call's preview, beside those that the tool makes to know its write",
        str(len(tracker.received)),
        "1",
    )


def _of_journal(tracker: Tracker) -> Row:
    """Take a fast one of each kind, a tenth of which are faster, in turn, as other work on the machine slows some."""
    titles = count()

    def write(caller: Caller) -> None:
        tracker.run(caller, "update_item", item_id="7", title=f"title {next(titles)}")

    kinds: dict[str, Callable[[], Any]] = {
        "plain": lambda: write(PLAIN),
        "kept": lambda: write(UMA),
        "read": lambda: tracker.run(PLAIN, "get_item", item_id="7"),
    }
    found: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(WRITES):
        for kind, work in kinds.items():
            begin = time.thread_time()
            work()
            found[kind].append((time.thread_time() - begin) * 1e6)
    plain, kept, read = (sorted(found[kind])[WRITES // 10] for kind in ("plain", "kept", "read"))
    added = (kept - plain - read) / plain
    what = "CPU that the journal adds to a warm write, beside the read of its target"
    return what, f"{added:.0%} ({plain:.0f} us, its read {read:.0f} us, all {kept:.0f} us)", "10%"


def _of_planning() -> Row:
    """Plan the calls of an undo, as those of any batch."""
    with tracking() as tracker:
        permissions = Permissions(UMA, tracker.catalogue)
        steps: list[Any] = [
            {
                "id": f"s{number}",
                "module": "tracker",
                "tool": "update_item",
                "params": {"item_id": str(number), "title": "t"},
                "undoes": f"c_{number:035x}",
            }
            for number in range(CHANGES)
        ]
        seconds = []
        for _ in range(5):
            begin = time.thread_time()
            plan(steps, permissions)
            seconds.append(time.thread_time() - begin)
    return f"CPU of planning the undo of {CHANGES} changes", f"{min(seconds) * 1e3:.0f} ms", "50 ms"


def _of_undo(deployment: LocalDeployment) -> Iterator[Row]:
    """Undo the changes of one batch on the embedded stack, and again, when nothing is left."""
    with operating(deployment.aws):
        role = directory.read(ORGANIZATION).roles[ROLE]
        modules, allow = (*role.modules, "changes", "files"), (*role.allow, "files.*")
        members.put_role(ORGANIZATION, replace(role, modules=modules, allow=allow))
        owner = directory.identify(Subject(deployment.login.issuer, USER.sub), organization=ORGANIZATION)
        paths = [access.put(owner, f"{number}".encode(), "text/plain").path for number in range(CHANGES)]
    headers = {"authorization": f"Bearer {deployment.token(USER)}"}
    with httpx2.Client(base_url=f"{deployment.aws.api_url}/v1", headers=headers, timeout=60) as client:

        def run(path: str, **body: Any) -> tuple[float, Any]:
            began = time.perf_counter()
            batch = client.post(path, json=body).json()
            while batch.get("state") == "running":
                batch = client.get(f"/batches/{batch['id']}", params={"wait": 20}).json()
            return time.perf_counter() - began, batch

        params = [{"path": path, "roles": [ROLE]} for path in paths]
        steps = [{"module": "files", "tool": "share", "params": one} for one in params]
        _, written = run("/batches", commands=steps, undoable=True)
        traffic_of(deployment.aws).requests.clear()
        seconds, undone = run("/undo", undo=written["id"])
        requests = len(traffic_of(deployment.aws).requests)
        again = client.post("/undo", json={"undo": written["id"]}).json()
        with operating(deployment.aws):
            left = sum(bool(access.find(owner, path).roles) for path in paths)
    assert undone["outcomes"] == {"succeeded": CHANGES}, undone
    assert (left, again["code"]) == (0, "CONFLICT")
    what = f"the undo of {CHANGES} changes of one batch on the embedded stack, all undone once"
    yield what, f"{seconds:.0f} s, {requests} requests to AWS", ""
