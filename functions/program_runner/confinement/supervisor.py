"""The process around one process: it starts it, watches its limits, ends all that it started, and reports.

    supervisor      enters the namespaces, and ends as the process did
      watcher       the first process of the namespace; becomes the parent of orphans
        program     limited, filtered, executed

`supervisor_command()` starts it; the socket whose number is its argument brings the order. Whoever closes that socket
ends everything.
"""

import errno
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn

from program_runner.confinement import kernel, landlock, processes, seccomp
from program_runner.confinement.order import Order, Report, read_line

WATCH_SECONDS = 0.05
SPACE_WATCH_SECONDS = 0.25


def main() -> NoReturn:
    """Run the order that comes over the socket, and end as its process did."""
    control = socket.socket(fileno=int(sys.argv[1]))
    order = Order.decode(read_line(control))
    order = replace(order, protected=(*order.protected, os.getpid()))
    with suppress(OSError):
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    isolation = kernel.enter_namespaces(network=order.network, mounts=bool(order.root)) if order.namespaces else ()
    kernel.forbid_inspection()
    watcher = os.fork()
    if watcher == 0:
        _exit_after(lambda: _watch(control, order, isolation))
    control.close()
    _drop_streams()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the watcher ends everything
    _, status = os.waitpid(watcher, 0)
    processes.kill_all()
    os._exit(_exit_status(os.waitstatus_to_exitcode(status)))


def _watch(control: socket.socket, order: Order, isolation: tuple[str, ...]) -> int:
    """Start the program, wait for its end or for a limit, end what is left and report; return the exit code."""
    wakeup, theirs = socket.socketpair()
    for one in (wakeup, theirs):
        one.setblocking(False)
    if "mounts" in isolation:
        isolation += kernel.confine_files(order.root, order.visible)
    with suppress(OSError):
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    program, error, own = _start(control, order, isolation)
    _drop_streams()
    reached, code = ("", 0) if error else _wait(control, wakeup, order, program)
    processes.kill_all(everything="pid" in isolation)
    report = Report(isolation + own, None if code < 0 else code, max(-code, 0), reached, error)
    with suppress(OSError):
        control.sendall(report.encode())
    return code


def _start(control: socket.socket, order: Order, isolation: tuple[str, ...]) -> tuple[int, int, tuple[str, ...]]:
    """Fork the program; return its number, the error with which it did not start, and how it confined itself."""
    reader, writer = os.pipe()
    program = os.fork()
    if program == 0:
        os.close(reader)
        control.close()
        _exit_after(lambda: _execute(order, writer, isolation))
    os.close(writer)
    with os.fdopen(reader, "rb") as answers:
        own, _, error = answers.read().decode().partition(" ")
    return program, int(error or 0), tuple(filter(None, own.split(",")))


def _execute(order: Order, writer: int, isolation: tuple[str, ...]) -> int:
    """Become the program; return only if that fails."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(order.folder)
        _limit(order, is_counted_alone="user" in isolation)
        if os.geteuid() == 0:
            with suppress(OSError):
                kernel.drop_capabilities()
        os.write(writer, ",".join([*_hide_files(order, isolation), *_filter(order, isolation)]).encode())
        os.execve(order.command[0], order.command, order.environment)  # noqa: S606 - argv only, no shell
    except OSError as error:
        os.write(writer, f" {error.errno or errno.EIO}".encode())
    return 127


def _hide_files(order: Order, isolation: tuple[str, ...]) -> list[str]:
    """Take all other files from this process, unless its mounts have done so; where it must see none, raise OSError."""
    if not order.root or "files" in isolation:
        return []
    if order.landlock:
        with suppress(OSError):
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
            landlock.confine(order.root, order.visible)
            return ["landlock"]
    if order.must_hide:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
    return []


def _filter(order: Order, isolation: tuple[str, ...]) -> list[str]:
    """Filter the calls of this process; where Linux cannot, nothing may run."""
    if sys.platform != "linux":
        return []
    # In a namespace of processes the numbers of others mean its own.
    above = () if "pid" in isolation else order.protected
    seccomp.install(network=order.network, protected=(os.getppid(), *above))
    return ["seccomp"]


def _limit(order: Order, *, is_counted_alone: bool) -> None:
    others = 2 if is_counted_alone else processes.owned()
    seconds = int(order.seconds * (os.cpu_count() or 1)) + 1
    limits = {
        resource.RLIMIT_CORE: (True, 0),
        resource.RLIMIT_DATA: (order.memory_bytes, order.memory_bytes),
        resource.RLIMIT_FSIZE: (order.file_bytes, order.file_bytes),
        resource.RLIMIT_CPU: (order.seconds, seconds),
        # It counts all processes and threads of the owner, and none of root's; the watcher counts besides.
        resource.RLIMIT_NPROC: (order.processes, order.processes + others),
    }
    for kind, (is_limited, value) in limits.items():
        if is_limited:
            resource.setrlimit(kind, (value, value))


def _wait(control: socket.socket, wakeup: socket.socket, order: Order, program: int) -> tuple[str, int]:
    """Wait for the program's end; return the limit for which it was ended, if it was, and its exit code."""
    started = time.monotonic()
    next_space_watch, ending, reached = started, 0.0, ""
    while (status := _reaped(program)) is None:
        now = time.monotonic()
        if not reached and not ending:
            reached = _reached(order, now - started, watch_space=now >= next_space_watch)
            if now >= next_space_watch:
                next_space_watch = now + SPACE_WATCH_SECONDS
            if reached:
                ending = _terminate(program, now, order.grace_seconds)
        if ending and now >= ending:
            return reached, -signal.SIGKILL
        readable, _, _ = select.select([wakeup, *([] if ending else [control])], [], [], WATCH_SECONDS)
        if wakeup in readable:
            with suppress(BlockingIOError):
                wakeup.recv(4096)
        if control in readable:  # closed, or told to end
            ending = _terminate(program, time.monotonic(), order.grace_seconds)
    return reached, status


def _reached(order: Order, seconds: float, *, watch_space: bool) -> str:
    if order.seconds and seconds >= order.seconds:
        return "seconds"
    if order.processes and processes.count() > order.processes:
        return "processes"
    if watch_space and order.folder_bytes and processes.folder_bytes(order.folder) > order.folder_bytes:
        return "folder_bytes"
    if watch_space and order.memory_bytes and processes.shared_bytes() > order.memory_bytes:
        return "memory_bytes"
    return ""


def _terminate(program: int, now: float, grace_seconds: float) -> float:
    """Ask the program's group to end, and return when it is killed."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGTERM)
    return now + grace_seconds


def _reaped(program: int) -> int | None:
    """Reap what has ended; return the program's exit code if that is among it."""
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return 0
        if pid == 0:
            return None
        if pid == program:
            return os.waitstatus_to_exitcode(status)


def _drop_streams() -> None:
    """Leave the program's pipes to it alone, so that their ends are seen."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.close(null)


def _exit_after(work: Callable[[], int]) -> NoReturn:
    """End this forked process with what the work returns, whatever happens in it."""
    code = 1
    try:
        code = work()
    finally:
        os._exit(_exit_status(code))


def _exit_status(code: int) -> int:
    """Return an exit code as a shell does: 128 and the signal for a process that one has ended."""
    return code if code >= 0 else 128 - code
