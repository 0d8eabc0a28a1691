"""One run: stage the inputs, run the program below a supervisor, take its outputs."""

import errno
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mcpist.errors import AnswerTooLarge, ProgramLimitReached, ProgramUnavailable, Timeout
from mcpist.programs.messages import MAX_INLINE_BYTES, MAX_STDERR_BYTES, ProgramRequest, ProgramResult
from mcpist.settings import settings
from program_runner import folder, outputs
from program_runner.confinement import kernel, processes
from program_runner.confinement.order import GRACE_SECONDS, Order, Report, read_line
from program_runner.folder import locate, visible_paths
from program_runner.process import inherited_environment, supervisor_command, supervisor_options

CHUNK_BYTES = 65_536
# After the limit and the grace: the supervisor ends by itself, but a loaded machine may be slow.
SUPERVISOR_REPORT_SECONDS = 5.0

_START_PROBLEMS: Mapping[int, str] = {
    errno.ENOENT: "the interpreter or the loader that it names is missing, or is none that the system has installed",
    errno.ENOEXEC: "it is made for another machine, or is no program",
    errno.EACCES: "it is not executable",
    errno.EOPNOTSUPP: "this machine's kernel can hide no files from it (no namespaces, no Landlock): here only packaged"
    " programs run, and of these none whose language reads files",
    errno.ENOSYS: "this machine's kernel has no filter of system calls, without which nothing runs",
}
_RESOURCES = {"folder_bytes": "bytes in its folder", "memory_bytes": "bytes of shared memory"}


def run(request: ProgramRequest, *, namespaces: bool = True, landlock: bool = True) -> ProgramResult:
    """Run a program once; raises what `mcpist.programs.client.run` names."""
    program, started = locate(request.program), time.monotonic()
    with folder.run_folder() as root:
        work = root / "work"
        for file in request.inputs:
            folder.write(work, file.name, outputs.content_of(file))
        stdin = (work / request.stdin_file).read_bytes() if request.stdin_file else request.stdin
        process = _Process(
            request, replace(_order(request, program, root), namespaces=namespaces, landlock=landlock), stdin
        )
        process.run()
        report, stdout = process.report, bytes(process.stdout)
        _raise_if_ended(request, report, process)
        inputs = {file.name for file in request.inputs}
        found = outputs.collect(request.program, work, request.outputs, inputs, request.limits.file_bytes)
        left = MAX_INLINE_BYTES - len(stdout)
        delivered = outputs.deliver(request.program, found, request.uploads, left)
    return ProgramResult(
        exit_code=report.exit_code,
        signal=signal.Signals(report.signal).name if report.signal else "",
        stdout=stdout,
        stderr_tail=process.stderr_tail,
        outputs=delivered,
        milliseconds=round((time.monotonic() - started) * 1000),
        isolation=report.isolation,
    )


def _order(request: ProgramRequest, program: Path, root: Path) -> Order:
    own = {"HOME": str(root / "tmp"), "TMPDIR": str(root / "tmp")}
    inherited = inherited_environment()
    # Scripts in Python find the interpreter that is visible to them last.
    path = os.pathsep.join([inherited.get("PATH", os.defpath), f"{sys.base_prefix}/bin"])
    # Lambda's function has no files but its own; another machine has files of people.
    must_hide = request.program.startswith("/") or (request.reads_files and settings().local_services)
    return Order(
        command=(str(program), *request.arguments),
        folder=str(root / "work"),
        root=str(root),
        visible=visible_paths(request.program, program),
        must_hide=must_hide,
        environment={**inherited, "PATH": path, **request.environment, **own},
        network=request.network,
        # What it writes to its standard output is counted by the reader, not by the supervisor.
        **request.limits.model_dump(exclude={"stdout_bytes"}),
    )


def _raise_if_ended(request: ProgramRequest, report: Report, process: "_Process") -> None:
    """Raise the error of a process that did not start, or that was ended for a limit."""
    name, limits = request.program, request.limits
    if report.errno:
        problem = _START_PROBLEMS.get(report.errno, os.strerror(report.errno))
        raise ProgramUnavailable(service=name, program=name, problem=problem)
    if report.reached == "seconds":
        raise Timeout(service=name, seconds=round(limits.seconds, 1))
    if report.reached:
        resource = _RESOURCES.get(report.reached, report.reached)
        limit = getattr(limits, report.reached)
        raise ProgramLimitReached(service=name, program=name, limit=limit, resource=resource)
    if process.is_too_long:
        raise AnswerTooLarge(service=name, limit_bytes=limits.stdout_bytes)
    if report.signal == signal.SIGXFSZ:
        raise ProgramLimitReached(service=name, program=name, limit=limits.file_bytes, resource="bytes in a file")


class _Process:
    """A supervised process, its standard input and what it says."""

    def __init__(self, request: ProgramRequest, order: Order, stdin: bytes) -> None:
        self.stdout = bytearray()
        self.is_too_long = False
        self.report = Report()
        self._order = order
        self._limit = request.limits.stdout_bytes
        self._stdin = memoryview(stdin)
        self._stderr = bytearray()
        self._reported = bytearray()
        with suppress(OSError):  # whatever loses its supervisor becomes a child of ours
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        self._others = processes.children()
        self._control, theirs = socket.socketpair()
        with theirs:
            self._process: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - the supervisor
                supervisor_command(theirs.fileno()), **supervisor_options(theirs)
            )

    @property
    def stderr_tail(self) -> str:
        """The end of its standard error."""
        return self._stderr.decode(errors="replace")

    def run(self) -> None:
        """Wait for its end; whatever happens, nothing of it is left."""
        until = time.monotonic() + self._order.seconds + GRACE_SECONDS + SUPERVISOR_REPORT_SECONDS
        try:
            with self._control:
                self._control.sendall(self._order.encode())
                self._exchange(until)
                self._control.settimeout(max(0.1, until - time.monotonic()))
                if not self._reported.endswith(b"\n"):
                    self._reported += read_line(self._control)
                self.report = Report.decode(bytes(self._reported))
        except OSError:  # the supervisor does not answer, or was killed
            self.report = Report(signal=signal.SIGKILL)
        finally:
            self._process.kill()
            with self._process:
                pass
            if not processes.kill_all(spared=self._others):
                raise RuntimeError("processes of a program do not end")

    def _exchange(self, until: float) -> None:
        """Write its input and read its output until both streams end, which they do when it has ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        with selectors.DefaultSelector() as selector:
            os.set_blocking(self._process.stdin.fileno(), False)
            selector.register(self._process.stdin, selectors.EVENT_WRITE, self._write)
            selector.register(self._process.stdout, selectors.EVENT_READ, self._read_stdout)
            selector.register(self._process.stderr, selectors.EVENT_READ, self._read_stderr)
            selector.register(self._control, selectors.EVENT_READ, self._read_report)
            readers = 2
            while readers and time.monotonic() < until:
                for key, _ in selector.select(1.0):
                    if not key.data(key.fd):
                        selector.unregister(key.fileobj)
                        if key.fileobj is self._process.stdin:
                            self._process.stdin.close()
                        elif key.fileobj is not self._control:
                            readers -= 1

    def _write(self, descriptor: int) -> bool:
        """Write a part of the input; return whether there is more."""
        try:
            self._stdin = self._stdin[os.write(descriptor, self._stdin[:CHUNK_BYTES]) :]
        except BrokenPipeError:
            return False
        return len(self._stdin) > 0

    def _read_stdout(self, descriptor: int) -> bool:
        chunk = os.read(descriptor, CHUNK_BYTES)
        self.stdout += chunk
        if len(self.stdout) > self._limit:
            self.is_too_long = True
            del self.stdout[self._limit :]
            self._end()
        return bool(chunk)

    def _read_stderr(self, descriptor: int) -> bool:
        chunk = os.read(descriptor, CHUNK_BYTES)
        self._stderr += chunk
        del self._stderr[:-MAX_STDERR_BYTES]
        return bool(chunk)

    def _read_report(self, _: int) -> bool:
        """Read a part of the report; where whoever sends it was killed, end what is left, which holds the pipes."""
        chunk = self._control.recv(CHUNK_BYTES)
        self._reported += chunk
        if not chunk and not self._reported:
            processes.kill_all(spared=self._others)
        return bool(chunk)

    def _end(self) -> None:
        """Let the supervisor end the process; it still reports."""
        try:
            self._control.shutdown(socket.SHUT_WR)
        except OSError:
            return
