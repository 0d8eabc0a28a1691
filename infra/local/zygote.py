"""A process that imports a handler once and forks its sandboxes, as SnapStart restores them from a snapshot.

`sandbox.py` starts it as `python -m infra.local.zygote FD` and exchanges JSON lines with it over that socket. First it
sends the config (`handler`, `path`, `folder`) and receives `{"ready": true}` or `{"broken": "..."}`. Then it sends
`{"fork": id, "environment": {...}}` and `{"kill": id}`, and receives `{"forked": id, "pid": n}` and
`{"ended": id, "status": n}`. When the socket closes, all sandboxes end.
"""

import asyncio
import contextlib
import ctypes
import gc
import http.client  # noqa: F401 - the runtime client needs it in each sandbox
import importlib
import json
import logging
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
import warnings
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

from infra.source import ROOT

PR_SET_PDEATHSIG = 1
SMALL_LOOP_VARIABLE = "SMALL_LOOP"  # of the environment: AWS's runtime client is not used, also where it is installed
# Lambda sets a handler on the root logger before the import, and libraries add filters to existing handlers.
_ROOT_HANDLER = logging.NullHandler()


def main() -> None:
    """Import the handler, then fork sandboxes until the socket closes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    lines = control.makefile("rwb", buffering=0)
    config = json.loads(lines.readline())
    _enter_task_root(config)
    try:
        _import_handler(config)
    except BaseException:  # noqa: BLE001 - the owner must receive every failure
        _send(control, {"broken": traceback.format_exc()})
        return
    if threading.active_count() > 1:
        print("threads started before the snapshot do not live in the sandboxes", flush=True)  # noqa: T201
    _preload_runtime()
    _close_connections()
    zygote = Zygote(control, config)
    gc.freeze()
    _send(control, {"ready": True})
    zygote.run()


def _enter_task_root(config: dict[str, Any]) -> None:
    """Change to the task root, as Lambda does, and remove this repository from the path."""
    here = str(ROOT)
    sys.path[:] = [*config["path"], *(entry for entry in sys.path if entry and str(Path(entry).resolve()) != here)]
    os.chdir(config["folder"])


def _import_handler(config: dict[str, Any]) -> None:
    logging.getLogger().addHandler(_ROOT_HANDLER)
    module, _, name = config["handler"].rpartition(".")
    getattr(importlib.import_module(module), name)
    if config["snap_start"]:
        from snapshot_restore_py import get_before_snapshot

        hooks = get_before_snapshot()
        while hooks:
            hook, arguments, named = hooks.pop()
            hook(*arguments, **named)


def _close_connections() -> None:
    """Close connections that were opened on import: a snapshot has none, and forks would share them."""
    for found in gc.get_objects():
        if issubclass(type(found), socket.socket) and found.family in {socket.AF_INET, socket.AF_INET6}:
            with contextlib.suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)


class Zygote:
    """Forks and kills sandboxes, and reports their ends."""

    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self._control = control
        self._config = config
        # Found once, before gc.freeze() hides the objects from the collector.
        self._loops = [found for found in gc.get_objects() if isinstance(found, asyncio.SelectorEventLoop)]
        self._children: dict[int, str] = {}
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._buffer = b""

    def run(self) -> None:
        """Serve the owner's commands until it closes the socket."""
        self._wakeup_writer.setblocking(False)
        self._wakeup_reader.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wakeup_writer.fileno(), warn_on_full_buffer=False)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._wakeup_reader, selectors.EVENT_READ)
            while self._serve({key.fileobj for key, _ in selector.select()}):
                self._reap()
        signal.set_wakeup_fd(-1)
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def _serve(self, readable: set[Any]) -> bool:
        if self._wakeup_reader in readable:
            with contextlib.suppress(BlockingIOError):
                self._wakeup_reader.recv(4096)
        if self._control not in readable:
            return True
        received = self._control.recv(65536)
        *commands, self._buffer = (self._buffer + received).split(b"\n")
        for command in commands:
            self._execute(json.loads(command))
        return bool(received)

    def _execute(self, command: dict[str, Any]) -> None:
        if "fork" in command:
            with warnings.catch_warnings(action="ignore"):
                pid = os.fork()
            if pid == 0:
                self._run_sandbox(command)
            self._children[pid] = command["fork"]
            _send(self._control, {"forked": command["fork"], "pid": pid})
        elif "kill" in command:
            for pid, sandbox in self._children.items():
                if sandbox == command["kill"]:
                    os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            sandbox = self._children.pop(pid, None)
            if sandbox is not None:
                _send(self._control, {"ended": sandbox, "status": os.waitstatus_to_exitcode(status)})

    def _run_sandbox(self, command: dict[str, Any]) -> None:
        """Become a sandbox; this never returns."""
        code = 1
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _die_with_parent()
            for owned in (self._control, self._wakeup_reader, self._wakeup_writer):
                owned.close()
            _replace_selectors(self._loops)
            os.environ.update(command["environment"])
            _run_runtime(self._config["handler"])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001 - a forked child must not return into its parent's code
            traceback.print_exc()
        finally:
            with contextlib.suppress(Exception):
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code)


def _send(control: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        control.sendall(json.dumps(message).encode() + b"\n")


def _die_with_parent() -> None:
    """On Linux let the kernel end this sandbox when its zygote ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _replace_selectors(loops: list[asyncio.SelectorEventLoop]) -> None:
    """Give event loops of before the fork a selector of their own, since a fork would share it."""
    for loop in loops:
        if loop.is_closed():
            continue
        state: Any = loop
        registered = list(state._selector.get_map().values())  # noqa: SLF001 - asyncio offers no other way
        state._selector = selectors.DefaultSelector()  # noqa: SLF001
        for key in registered:
            if key.fileobj is not state._ssock:  # noqa: SLF001
                state._selector.register(key.fileobj, key.events, key.data)  # noqa: SLF001
        state._ssock.close()  # noqa: SLF001
        state._csock.close()  # noqa: SLF001
        state._internal_fds -= 1  # noqa: SLF001
        state._make_self_pipe()  # noqa: SLF001


def _preload_runtime() -> None:
    """Import AWS's runtime client without its C++ part, which reads the sandbox's address on import."""
    sys.modules["runtime_client"] = cast("ModuleType", SimpleNamespace(initialize_client=lambda _: None))
    with contextlib.suppress(ImportError):
        importlib.import_module("awslambdaric.bootstrap")
    del sys.modules["runtime_client"]


def _run_runtime(handler: str) -> None:
    """Run AWS's runtime client if it is installed and wanted, or else the small loop of `runtime_loop.py`."""
    api = os.environ["AWS_LAMBDA_RUNTIME_API"]
    try:
        runtime_client: Any = None if SMALL_LOOP_VARIABLE in os.environ else importlib.import_module("runtime_client")
    except ImportError:
        runtime_client = None
    if runtime_client is None:
        from infra.local import runtime_loop

        runtime_loop.run(handler, api)
        return
    from awslambdaric import bootstrap, lambda_runtime_client

    lambda_runtime_client.runtime_client = runtime_client
    runtime_client.initialize_client(lambda_runtime_client._user_agent())  # noqa: SLF001 - as its module does

    class Client(lambda_runtime_client.LambdaRuntimeClient):  # type: ignore[misc]
        """Keeps the path of our runtime API, where AWS's client expects only a host."""

        def call_rapid(self, method: str, endpoint: str, *rest: Any, **named: Any) -> None:
            super().call_rapid(method, f"/{prefix}{endpoint}", *rest, **named)

    set_up = bootstrap._setup_logging  # noqa: SLF001 - as above

    def set_up_with_filters(*arguments: Any) -> None:
        set_up(*arguments)
        for made in logging.getLogger().handlers:
            made.filters.extend(_ROOT_HANDLER.filters)

    bootstrap._setup_logging = set_up_with_filters  # noqa: SLF001
    host, _, prefix = api.partition("/")
    bootstrap.run(handler, Client(host))


if __name__ == "__main__":
    main()
