"""Sandboxes as real processes: forked, isolated, killed, timed out."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from infra.local.invocation import Sandbox
from infra.local.pool import Pool
from infra.local.router import Keyring, RequestRouter
from infra.local.sandbox import HandlerImportError, RunContext, ZygoteProcess
from infra.local.server import LoopbackServer, listen
from infra.local.template import Function
from infra.local.zygote import SMALL_LOOP_VARIABLE

ROOT = Path(__file__).parents[3]
HANDLER = '''
import asyncio, os, sys, threading, time
from pathlib import Path
from snapshot_restore_py import register_after_restore, register_before_snapshot

imported_by = os.getpid()
loop = asyncio.new_event_loop()
calls = 0
hooks = []
register_before_snapshot(lambda: hooks.append(("before", os.getpid())))
register_after_restore(lambda: hooks.append(("after", os.getpid())))

def handler(event, context):
    global calls
    calls += 1
    match event:
        case {"exit": code}:
            os._exit(code)
        case {"raise": message}:
            raise ValueError(message)
        case {"sleep": seconds}:
            Path(os.environ["STARTED"]).touch()
            time.sleep(seconds)
        case {"meet": other, "me": me}:
            meet(Path(me), Path(other))
            loop.run_until_complete(asyncio.sleep(0))
    print("called", calls)
    return {
        "calls": calls, "pid": os.getpid(), "parent": os.getppid(), "imported_by": imported_by, "hooks": hooks,
        "cwd": os.getcwd(), "path": sys.path, "environment": dict(os.environ), "arn": context.invoked_function_arn,
        "wakes": os.fstat(loop._ssock.fileno()).st_ino,
        "id": context.aws_request_id, "left_ms": context.get_remaining_time_in_millis(),
    }

def meet(me, other):
    """Two invocations that can only end together."""
    me.touch()
    until = time.monotonic() + 10
    while not other.exists() and time.monotonic() < until:
        time.sleep(0.001)
'''


@dataclass
class Lambdas:
    """One function in its sandboxes."""

    pool: Pool
    zygote: ZygoteProcess
    folder: Path

    def __call__(self, event: Any = None) -> tuple[str | None, Any]:
        outcome = self.pool.invoke(json.dumps(event).encode(), f"{self.pool.function.arn}:live")
        return outcome.error, json.loads(outcome.payload)

    def started(self, threads: ThreadPoolExecutor, event: Any) -> Any:
        """Invoke in a thread and return when the handler runs."""
        marker = self.folder / "started"
        marker.unlink(missing_ok=True)
        future = threads.submit(self, event)
        while not marker.exists():
            assert not future.done()
            threading.Event().wait(0.001)
        return future


@contextmanager
def lambdas(
    folder: Path, source: str = HANDLER, *, timeout: int = 20, snap_start: bool = True, small_loop: bool = False
) -> Iterator[Lambdas]:
    room = folder / "functions" / "room"
    room.mkdir(parents=True)
    (room / "handler.py").write_text(source)
    environment = {"STARTED": str(folder / "started"), "OWN": "yes"}
    function = Function(
        "F",
        "mcpist-F",
        "room.handler.handler",
        room.parent,
        (),
        timeout,
        256,
        environment,
        "live",
        snap_start,
        "JSON",
        "WARN",
    )
    sandboxes: dict[str, tuple[Sandbox, Pool]] = {}
    front = RequestRouter(Keyring(), sandboxes)
    with ExitStack() as stack:
        listener = listen("127.0.0.1", 0)
        stack.enter_context(LoopbackServer(listener, front))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        context = RunContext(f"http://{address}", f"{address}/{front.secret}", folder / "logs", Keyring(), sandboxes)
        zygote = ZygoteProcess(function, context, {SMALL_LOOP_VARIABLE: "on"} if small_loop else {})
        stack.callback(zygote.close)
        zygote.pool = Pool(function, zygote, max_sandboxes=3, max_queued=10)
        stack.callback(zygote.pool.close)
        zygote.wait_until_ready()
        yield Lambdas(zygote.pool, zygote, folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lambdas]:
    with lambdas(tmp_path_factory.mktemp("lambdas")) as made:
        yield made


@pytest.fixture
def fresh(shared: Lambdas) -> Lambdas:
    """The shared function, without warm sandboxes."""
    shared.pool.stop_idle()
    return shared


def test_a_sandbox_is_forked_from_the_process_that_imported_the_handler(fresh: Lambdas) -> None:
    error, seen = fresh()
    assert error is None
    assert seen["imported_by"] == seen["parent"] == fresh.zygote.process.pid
    assert seen["pid"] != seen["parent"]


def test_a_warm_sandbox_keeps_its_module_globals(fresh: Lambdas) -> None:
    assert [fresh()[1]["calls"] for _ in range(3)] == [1, 2, 3]
    assert len(fresh.pool.sandboxes) == 1


def test_two_sandboxes_at_once_share_neither_globals_nor_event_loops(fresh: Lambdas, tmp_path: Path) -> None:
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(fresh, {"me": a, "meet": b}), threads.submit(fresh, {"me": b, "meet": a})]
        (_, first), (_, second) = (future.result(20) for future in both)
    assert (first["calls"], second["calls"]) == (1, 1)
    assert first["pid"] != second["pid"]
    assert first["wakes"] != second["wakes"]


def test_hooks_run_once_before_the_snapshot_and_in_each_sandbox_after_it(fresh: Lambdas) -> None:
    seen = fresh()[1]
    assert seen["hooks"] == [["before", seen["parent"]], ["after", seen["pid"]]]


def test_a_sandbox_runs_in_the_task_root(fresh: Lambdas) -> None:
    seen = fresh()[1]
    functions = str(fresh.pool.function.code)
    environment = seen["environment"]
    assert seen["cwd"] == functions
    assert seen["path"][0] == functions
    assert str(ROOT) not in seen["path"]
    assert seen["arn"] == "arn:aws:lambda:us-east-1:123456789012:function:mcpist-F:live"
    assert 0 < seen["left_ms"] <= 20_000
    assert environment["AWS_LAMBDA_FUNCTION_NAME"] == "mcpist-F"
    assert environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "256"
    assert environment["AWS_LAMBDA_INITIALIZATION_TYPE"] == "snap-start"
    assert environment["_HANDLER"] == "room.handler.handler"
    assert environment["OWN"] == "yes"
    assert environment["AWS_LAMBDA_LOG_FORMAT"] == "JSON"
    assert environment["AWS_LAMBDA_LOG_LEVEL"] == "WARN"


def test_a_sandbox_knows_nothing_of_the_owners_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "mine")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAMINE")
    monkeypatch.setenv("HOME", "/home/me")
    with lambdas(tmp_path) as made:
        environment = made()[1]["environment"]
    assert not {"AWS_PROFILE", "AWS_ACCESS_KEY_ID", "HOME"} & set(environment)


def test_an_exception_is_a_function_error_as_lambda_words_it(fresh: Lambdas) -> None:
    error, seen = fresh({"raise": "no"})
    assert error == "Unhandled"
    assert (seen["errorType"], seen["errorMessage"]) == ("ValueError", "no")
    assert "room/handler.py" in "".join(seen["stackTrace"])


def test_a_sandbox_that_exits_fails_its_invocation_and_is_replaced(fresh: Lambdas) -> None:
    error, seen = fresh({"exit": 3})
    assert (error, seen["errorType"]) == ("Unhandled", "Runtime.ExitError")
    assert seen["errorMessage"].endswith("Runtime exited with error: exit status 3")
    assert fresh()[1]["calls"] == 1


def test_a_killed_sandbox_fails_its_invocation(fresh: Lambdas) -> None:
    with ThreadPoolExecutor(1) as threads:
        future = fresh.started(threads, {"sleep": 60})
        (sandbox,) = fresh.pool.sandboxes
        fresh.zygote.kill(sandbox)
        assert sandbox.exited.is_set()
        error, seen = future.result(5)
    assert (error, seen["errorType"]) == ("Unhandled", "Runtime.ExitError")
    assert "signal: killed" in seen["errorMessage"]
    assert sandbox.pid is not None
    assert not alive(sandbox.pid)


def test_a_timeout_kills_the_sandbox(tmp_path: Path) -> None:
    with lambdas(tmp_path, timeout=1) as made:
        error, seen = made({"sleep": 60})
        assert (error, seen["errorType"]) == ("Unhandled", "Sandbox.Timedout")
        assert seen["errorMessage"].endswith("Task timed out after 1.00 seconds")
        assert made()[1]["calls"] == 1


CONNECTED = """
import socket
connection = socket.create_connection(("127.0.0.1", PORT))
def handler(event, context):
    return connection.recv(1).decode()
"""


def test_a_connection_that_was_opened_on_import_is_closed_in_every_sandbox(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        source = CONNECTED.replace("PORT", str(server.getsockname()[1]))
        with lambdas(tmp_path, source, timeout=5) as made:
            assert made() == (None, "")
            made.pool.stop_idle()
            assert made() == (None, "")


def test_an_import_error_is_reported_on_start(tmp_path: Path) -> None:
    wanted = r"(?s)F \(room\.handler\.handler\).*no_such_module"
    with pytest.raises(HandlerImportError, match=wanted), lambdas(tmp_path, "import no_such_module"):
        pass


def test_a_missing_handler_is_reported_on_start(tmp_path: Path) -> None:
    with pytest.raises(HandlerImportError, match="has no attribute 'handler'"), lambdas(tmp_path, "x = 1"):
        pass


def test_a_failing_after_restore_hook_fails_the_invocation(tmp_path: Path) -> None:
    source = "import snapshot_restore_py as s\ns.register_after_restore(lambda: 1 / 0)\ndef handler(e, c): return 1"
    with lambdas(tmp_path, source) as made:
        error, seen = made()
    assert (error, seen["errorType"]) == ("Unhandled", "ZeroDivisionError")


def test_functions_without_snap_start_run_no_hooks(tmp_path: Path) -> None:
    with lambdas(tmp_path, snap_start=False) as made:
        seen = made()[1]
    assert seen["hooks"] == []
    assert seen["environment"]["AWS_LAMBDA_INITIALIZATION_TYPE"] == "on-demand"


def test_a_sandbox_runs_on_the_small_loop_where_the_runtime_client_is_missing(tmp_path: Path) -> None:
    source = """
import sys, traceback
class Without:
    def find_spec(self, name, *rest):
        if name == "runtime_client":
            raise ImportError(name)
sys.meta_path.insert(0, Without())
def handler(event, context):
    return [frame.filename.rpartition("/")[2] for frame in traceback.extract_stack()]
"""
    with lambdas(tmp_path, source) as made:
        error, files = made()
    assert error is None
    assert "runtime_loop.py" in files
    assert "bootstrap.py" not in files


def test_a_sandbox_runs_on_the_small_loop_where_a_deployment_wants_it(tmp_path: Path) -> None:
    source = """
import traceback
def handler(event, context):
    return [frame.filename.rpartition("/")[2] for frame in traceback.extract_stack()]
"""
    with lambdas(tmp_path, source, small_loop=True) as made:
        _, files = made()
    assert "runtime_loop.py" in files
    assert "bootstrap.py" not in files


def test_output_of_a_handler_is_in_its_log(tmp_path: Path) -> None:
    with lambdas(tmp_path) as made:
        made()
    assert "called 1" in (tmp_path / "logs" / "F.log").read_text()


def test_the_end_of_the_context_ends_a_busy_sandbox(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        with lambdas(tmp_path) as made:
            future = made.started(threads, {"sleep": 60})
            (sandbox,) = made.pool.sandboxes
        assert future.result(5)[1]["errorType"] == "Runtime.ExitError"
    assert sandbox.pid is not None
    assert not alive(sandbox.pid)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_sandboxes_do_not_survive_their_owner(tmp_path: Path) -> None:
    script = f"""
import sys, threading
sys.path[:0] = [{str(ROOT)!r}]
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tests.infra.local.test_sandbox import lambdas
with ThreadPoolExecutor(1) as threads, lambdas(Path({str(tmp_path)!r})) as made:
    made.started(threads, {{"sleep": 60}})
    print(made.pool.sandboxes[0].pid, made.zygote.process.pid, flush=True)
    threading.Event().wait()
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        pids = [int(pid) for pid in owner.stdout.readline().split()]
        assert len(pids) == 2
        owner.send_signal(signal.SIGKILL)
    for pid in pids:
        left = 5000
        while alive(pid) and left:
            threading.Event().wait(0.001)
            left -= 1
        assert not alive(pid)


def alive(pid: int) -> bool:
    """Whether a process runs; one that is only unburied does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    if sys.platform != "linux":
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
