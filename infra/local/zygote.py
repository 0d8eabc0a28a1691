"""The process that has imported a handler once and forks its sandboxes, as SnapStart restores them from a snapshot.

It is started by `sandbox.py` as `python -m infra.local.zygote FD` and speaks JSON lines over that socket: first the
config arrives (`handler`, `path`, `folder`), `{"ready": true}` or `{"broken": "..."}` goes back; then
`{"fork": id, "environment": {...}}` and `{"kill": id}` arrive, `{"forked": id, "pid": n}` and
`{"ended": id, "status": n}` go back. When the socket closes, all sandboxes end.
"""

import asyncio
import contextlib
import ctypes
import gc
import http.client  # noqa: F401 - the runtime client wants it in each sandbox
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

PR_SET_PDEATHSIG = 1
# Lambda has its handler on the root logger before it imports ours, and libraries put filters on what they find there.
_ROOT_HANDLER = logging.NullHandler()


def main() -> None:
    """Import the handler, then fork sandboxes until the socket closes."""
    control = socket.socket(fileno=int(sys.argv[1]))
    lines = control.makefile("rwb", buffering=0)
    config = json.loads(lines.readline())
    _enter_task_root(config)
    try:
        _import_handler(config)
    except BaseException:  # noqa: BLE001 - whatever it was, the owner must hear of it
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
    """Stand where Lambda stands: in the task root, without this repository on the path."""
    here = str(Path(__file__).resolve().parents[2])
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
    """End the connections that were opened on import: they do not outlive a snapshot, and forks would share them."""
    for found in gc.get_objects():
        if issubclass(type(found), socket.socket) and found.family in {socket.AF_INET, socket.AF_INET6}:
            with contextlib.suppress(OSError):
                found.shutdown(socket.SHUT_RDWR)


class Zygote:
    """Forks, kills and buries sandboxes."""

    def __init__(self, control: socket.socket, config: dict[str, Any]) -> None:
        self._control = control
        self._config = config
        # Found once, before the objects are frozen out of the collector's sight.
        self._loops = [found for found in gc.get_objects() if isinstance(found, asyncio.SelectorEventLoop)]
        self._children: dict[int, str] = {}
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._buffer = b""

    def run(self) -> None:
        """Serve the owner's commands until it hangs up."""
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
        """Become a sandbox; never returns."""
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
    """On Linux the kernel ends a sandbox when its zygote dies, however it dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _replace_selectors(loops: list[asyncio.SelectorEventLoop]) -> None:
    """Give loops made before the fork their own selector, which a fork would share and a snapshot copies."""
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
    """Import AWS's runtime client but for its C++ part, which reads the sandbox's own address when it is imported."""
    sys.modules["runtime_client"] = cast("ModuleType", SimpleNamespace(initialize_client=lambda _: None))
    with contextlib.suppress(ImportError):
        importlib.import_module("awslambdaric.bootstrap")
    del sys.modules["runtime_client"]


def _run_runtime(handler: str) -> None:
    """AWS's own runtime client where there is a wheel of it, else the small loop of this room."""
    api = os.environ["AWS_LAMBDA_RUNTIME_API"]
    try:
        runtime_client: Any = importlib.import_module("runtime_client")
    except ImportError:
        from infra.local import runtime_loop

        runtime_loop.run(handler, api)
        return
    from awslambdaric import bootstrap, lambda_runtime_client

    lambda_runtime_client.runtime_client = runtime_client
    runtime_client.initialize_client(lambda_runtime_client._user_agent())  # noqa: SLF001 - as its module does

    class Client(lambda_runtime_client.LambdaRuntimeClient):  # type: ignore[misc]
        """Keeps the secret path of our runtime API where AWS's client expects a bare host."""

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
