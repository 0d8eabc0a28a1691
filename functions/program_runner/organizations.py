"""A process for each organization, below which all its programs and servers run, and which ends with all of them.

runner          receives messages; adopts whatever loses its parent below it
  organization  performs its messages; one at a time where the kernel keeps processes apart by no namespaces
    supervisor  of a run or of a server
"""

import json
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from mcpist.settings import settings
from program_runner import folder
from program_runner.confinement import kernel, processes
from program_runner.confinement.order import read_line

MAX_ORGANIZATIONS = 8
END_SECONDS = 10.0  # for servers to end by themselves

type Perform = Callable[..., Any]


class OrganizationEnded(Exception):
    """The process of an organization ended within a message."""


class Organizations:
    """The processes of the organizations that this sandbox works for."""

    def __init__(self, perform: Perform, close: Callable[[], None], are_apart: Callable[[], bool]) -> None:
        self._perform = perform
        self._close = close
        self._are_apart = are_apart
        self._processes: dict[str, _Process] = {}
        self._others = processes.children()
        self._kept = set(os.listdir(tempfile.gettempdir()))

    def ask(self, organization: str, *message: Any) -> Any:
        """Return the answer of `perform` to a message in the organization's process; raises OrganizationEnded."""
        process = self._processes.pop(organization, None) or self._start()
        self._processes[organization] = process  # the last one used is the last one ended
        try:
            return process.ask(message)
        except (OSError, ValueError):
            self.end(organization)
            raise OrganizationEnded from None

    def end(self, *organizations: str) -> None:
        """End the processes of organizations, and await all that was below them; where that fails, end this one."""
        for organization in organizations:
            self._processes.pop(organization).end()
        if not processes.kill_all(spared=[*self._others, *(one.pid for one in self._processes.values())]):
            os._exit(1)
        if not self._processes and not settings().local_services:
            self._empty_temporary_folder()

    def _start(self) -> "_Process":
        with suppress(OSError):
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        known = list(self._processes)
        if leaving := known[: max(0, len(known) + 1 - MAX_ORGANIZATIONS)] if self._are_apart() else known:
            self.end(*leaving)
        return _Process(self._perform, self._close, list(self._processes.values()))

    def _empty_temporary_folder(self) -> None:
        """Remove what programs have left: on Lambda nobody else writes there, and no other machine is touched."""
        for name in set(os.listdir(tempfile.gettempdir())) - self._kept:
            path = os.path.join(tempfile.gettempdir(), name)
            with suppress(OSError):
                if os.path.isdir(path) and not os.path.islink(path):
                    folder.open_all(path)
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    os.unlink(path)


class _Process:
    def __init__(self, perform: Perform, close: Callable[[], None], others: "list[_Process]") -> None:
        self._socket, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            for inherited in (self, *others):  # else these would not see that the runner closes them
                inherited._socket.close()  # noqa: SLF001 - of this class
            _serve(theirs, perform, close)
        theirs.close()

    def ask(self, message: Any) -> Any:
        self._socket.sendall(json.dumps(message).encode() + b"\n")
        return json.loads(read_line(self._socket))

    def end(self) -> None:
        """Let it close its servers; it is killed if it does not end by itself."""
        self._socket.close()
        until = time.monotonic() + END_SECONDS
        with suppress(ChildProcessError):
            while os.waitpid(self.pid, os.WNOHANG)[0] == 0:
                if time.monotonic() >= until:
                    os.kill(self.pid, signal.SIGKILL)
                time.sleep(0.002)


def _serve(control: socket.socket, perform: Perform, close: Callable[[], None]) -> NoReturn:
    """Perform messages until the runner closes the socket; never return into the runner's own code."""
    code = 1
    try:
        with suppress(OSError):
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        while received := read_line(control):
            control.sendall(json.dumps(perform(*json.loads(received))).encode() + b"\n")
        close()
        code = 0
    finally:
        os._exit(code)
