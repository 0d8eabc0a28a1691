"""The supervisor in forks of this process, where coverage sees it, and its filter as the kernel would run it."""

import errno
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest

from program_runner.confinement import kernel, landlock, processes, seccomp, supervisor, system_calls
from program_runner.confinement.order import Order, Report, read_line
from program_runner.folder import INSTALLED, run_folder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="supervisors need Linux")
ROOT = Path(__file__).parents[2]
ORDER = Order(
    command=("/bin/sh", "-c", "exit 3"),
    folder="/tmp",
    root="",
    environment={"PATH": os.environ["PATH"]},
    network=False,
    protected=(os.getpid(),),
    seconds=10,
    grace_seconds=0.2,
    memory_bytes=1 << 30,
    processes=20,
    file_bytes=1 << 20,
    folder_bytes=0,
    namespaces=False,
)


def fork(work: Callable[[], object]) -> int:
    """Run something in a fork of this process, and return its number."""
    with warnings.catch_warnings(action="ignore"):
        pid = os.fork()
    if pid == 0:
        try:
            work()
        except Exception:  # noqa: BLE001 - a test of this process fails for it
            traceback.print_exc()  # for who reads why it is 99
        finally:
            os._exit(99)
    return pid


def supervise(order: Order, close_after: float = 0) -> tuple[Report, int]:
    """Return the report of a supervisor, and its exit code; after some seconds nobody waits for it any more."""
    control, theirs = socket.socketpair()
    theirs.set_inheritable(True)

    def work() -> None:
        control.close()
        sys.argv[1:] = [str(theirs.detach())]
        supervisor.main()

    pid = fork(work)
    theirs.close()
    with control:
        control.sendall(order.encode())
        if close_after:
            time.sleep(close_after)
            control.shutdown(socket.SHUT_WR)
        report = Report.decode(read_line(control))
    return report, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("has_root", [True, False])
def test_it_ends_as_its_program_does_in_namespaces(has_root: bool, tmp_path: Path) -> None:
    root = str(tmp_path) if has_root else ""
    order = replace(ORDER, namespaces=True, root=root, folder=root or "/tmp", visible=INSTALLED)
    report, code = supervise(order)
    assert (report.exit_code, code) == (3, 3)
    if report.isolation != ("seccomp",):
        assert {"user", "pid", "ipc", "network", "seccomp"} <= set(report.isolation)
        assert ("files" in report.isolation) is bool(root)


def test_it_ends_as_its_program_does_without_them() -> None:
    assert supervise(ORDER) == (Report(("seccomp",), exit_code=3), 3)
    killed, code = supervise(replace(ORDER, command=("/bin/sh", "-c", "kill -9 $$")))
    assert (killed.exit_code, killed.signal, code) == (None, signal.SIGKILL, 128 + signal.SIGKILL)


def test_a_program_that_does_not_start_says_why() -> None:
    assert supervise(replace(ORDER, command=("/no/such/program",)))[0].errno == errno.ENOENT
    assert supervise(replace(ORDER, folder="/no/such/folder"))[0].errno == errno.ENOENT


@pytest.mark.parametrize(
    ("reached", "change"),
    [
        ("seconds", {"seconds": 0.1}),
        ("processes", {"processes": 2, "command": ("/bin/sh", "-c", "sleep 9 & sleep 9 & sleep 9 & sleep 9 & wait")}),
        ("folder_bytes", {"folder_bytes": 1, "folder": str(ROOT / "tests/program_runner")}),
    ],
)
def test_it_ends_what_goes_past_a_limit(reached: str, change: dict[str, object]) -> None:
    sleeping = {"command": ("/bin/sh", "-c", "trap '' TERM; while :; do sleep 0.05; done"), **change}
    report, _ = supervise(replace(ORDER, **sleeping))  # type: ignore[arg-type]
    assert report.reached == reached
    assert report.signal in {signal.SIGKILL, signal.SIGTERM}


def test_it_ends_its_program_when_nobody_waits_for_it() -> None:
    report, _ = supervise(replace(ORDER, command=("/bin/sleep", "infinity"), seconds=0), close_after=0.3)
    assert (report.reached, report.signal) == ("", signal.SIGTERM)


@pytest.mark.parametrize("namespaces", [True, False])
def test_its_watcher_ends_when_it_is_killed(namespaces: bool) -> None:
    order = replace(ORDER, command=("/bin/sleep", "infinity"), seconds=3, namespaces=namespaces)
    control, theirs = socket.socketpair()
    theirs.set_inheritable(True)

    def work() -> None:
        control.close()
        sys.argv[1:] = [str(theirs.detach())]
        supervisor.main()

    pid = fork(work)
    theirs.close()
    with control:
        control.sendall(order.encode())
        while not (watchers := processes.children(pid)) or not processes.children(watchers[0]):
            os.sched_yield()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        assert control.recv(1) == b"", "the watcher, which alone has the socket, reports nothing any more"
    processes.kill_all(spared=processes.children())


def test_a_supervisor_that_was_killed_has_no_report() -> None:
    assert Report.decode(b"").signal == signal.SIGKILL


def test_it_counts_and_ends_what_runs_below_it() -> None:
    def below() -> None:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        with subprocess.Popen(["/bin/sh", "-c", "(setsid sleep 60 &); sleep 60"]):
            while processes.count() < 3:
                time.sleep(0.01)
            assert processes.owned() >= 3
            processes.kill_all()
            os._exit(10 + processes.count())

    assert os.waitstatus_to_exitcode(os.waitpid(fork(below), 0)[1]) == 10


def test_a_folder_counts_with_its_folders_and_its_entries(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_bytes(b"x" * 100_000)
    (tmp_path / "link").symlink_to("/")
    assert 100_000 < processes.folder_bytes(str(tmp_path)) < 200_000
    assert processes.folder_bytes(str(tmp_path / "none")) == 0


def test_what_the_kernel_refuses_is_an_error() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        kernel.prctl(-1)
    with pytest.raises(OSError, match=r"o such|not permitted"):  # the latter for a user who is not root
        kernel.mount("none", "/no/such", "none", 0)
    with pytest.raises(OSError, match=r"o such|not permitted"):
        kernel.change_mounts("/no/such", 0, set_=kernel.MOUNT_ATTR_RDONLY)

    def without() -> None:
        kernel.drop_capabilities()
        os._exit(7)

    assert os.waitstatus_to_exitcode(os.waitpid(fork(without), 0)[1]) == (7 if os.geteuid() == 0 else 99)


def test_without_rights_to_mounts_files_are_not_hidden() -> None:
    def try_it() -> None:
        os.setuid(65_534)
        os._exit(len(kernel.confine_files("/tmp", ())))

    if os.geteuid() == 0:
        assert os.waitstatus_to_exitcode(os.waitpid(fork(try_it), 0)[1]) == 0


def test_a_kernel_that_refuses_namespaces_gives_none() -> None:
    def try_it() -> None:
        seccomp.install(network=False, protected=[])
        os._exit(len(kernel.enter_namespaces(network=False, mounts=True)))

    assert os.waitstatus_to_exitcode(os.waitpid(fork(try_it), 0)[1]) == 0


@pytest.mark.parametrize("user", [0, 65_534])
@pytest.mark.parametrize("way", ["mounts", "landlock"])
def test_all_but_a_folder_is_hidden_from_root_and_from_others(user: int, way: str) -> None:
    if user != os.geteuid() != 0:
        pytest.skip("only root can become another user")
    root = tempfile.mkdtemp(dir="/tmp")
    Path(root, "own").write_text("own")
    for path in (root, f"{root}/own"):
        os.chown(path, user, -1) if os.geteuid() == 0 else None

    def try_it() -> None:
        if user != os.geteuid():
            os.setuid(user)
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # as a process that is executed is
        if way == "landlock":
            kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
            landlock.confine(root, INSTALLED)
        elif "mounts" not in kernel.enter_namespaces(network=True, mounts=True):
            os._exit(3)
        elif "files" not in kernel.confine_files(root, INSTALLED):
            os._exit(4)
        seen = [can_read("/etc/passwd"), can_read("/etc/hostname"), can_read(f"{root}/own"), can_read("/bin/sh")]
        os._exit(7 if seen == [False, False, True, True] else 5)

    ended = os.waitstatus_to_exitcode(os.waitpid(fork(try_it), 0)[1])
    shutil.rmtree(root)
    if ended in {3, 4}:
        pytest.skip("this kernel gives such a user no mounts of its own")
    assert ended == 7


def can_read(path: str) -> bool:
    try:
        return bool(Path(path).read_bytes())
    except OSError:
        return False


def test_a_folder_that_its_owner_has_closed_is_removed() -> None:
    def try_it() -> None:
        if os.geteuid() == 0:
            os.setuid(65_534)
        tempfile.tempdir = "/tmp"  # that of a test may be closed to this user
        with run_folder() as root:
            (root / "work/a/b").mkdir(parents=True)
            (root / "work/a/b/c").write_text("x")
            (root / "work/a/b").chmod(0)
            (root / "work/a").chmod(0o500)
        os._exit(5 + root.exists())

    assert os.waitstatus_to_exitcode(os.waitpid(fork(try_it), 0)[1]) == 5


def evaluate(code: bytes, data: bytes) -> int:
    """Run a filter on a call as the kernel does, and return its verdict."""
    accumulator, place = 0, 0
    instructions = [struct.unpack_from("=HBBI", code, at) for at in range(0, len(code), 8)]
    while True:
        kind, then, otherwise, value = instructions[place]
        place += 1
        match kind:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, value)
            case 0x15:
                place += then if accumulator == value else otherwise
            case 0x35:
                place += then if accumulator >= value else otherwise
            case 0x45:
                place += then if accumulator & value else otherwise
            case 0x06:
                return int(value)


REFUSED = {
    "x86_64": {"ptrace": 101, "mount": 165, "keyctl": 250, "process_vm_readv": 310, "bpf": 321, "setpriority": 141},
    "aarch64": {"ptrace": 117, "mount": 40, "keyctl": 219, "process_vm_readv": 270, "bpf": 280, "setpriority": 140},
}
TRIED = {"pidfd_send_signal": 424, "io_uring_setup": 425, "clone3": 435, "process_madvise": 440, "of tomorrow": 900}
SIGNALS = ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64", "sched_setaffinity")
MACHINES = pytest.mark.parametrize("machine", sorted(seccomp.ARCHITECTURES))
EPERM, ENOSYS = 0x00050001, 0x00050026


def verdict_of(machine: str, *, network: bool = False, protected: Collection[int] = ()) -> Callable[..., int]:
    """Return a function from a call's number and arguments to a filter's verdict: 0 is yes."""
    architecture = seccomp.ARCHITECTURES[machine]
    code = seccomp.program(architecture, network=network, protected=protected, first=50)
    assert len(code) // 8 < 4096

    def verdict(number: int, *arguments: int, audit: int = architecture.audit) -> int:
        six = [argument & 0xFFFFFFFFFFFFFFFF for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
        return evaluate(code, struct.pack("=IIQ6Q", number, audit, 0, *six)) ^ 0x7FFF0000

    return verdict


def number_of(machine: str, name: str) -> int:
    found = seccomp.ARCHITECTURES[machine].calls(
        *system_calls.COMMON_CALLS, system_calls.CHECKED_CALLS, system_calls.SERVER_CALLS
    )
    return found[name]


@MACHINES
def test_the_filter_allows_what_its_table_names_and_nothing_else(machine: str) -> None:
    architecture = seccomp.ARCHITECTURES[machine]
    alone, server = verdict_of(machine), verdict_of(machine, network=True)
    allowed = set(architecture.calls(*system_calls.COMMON_CALLS, system_calls.CHECKED_CALLS).values())
    of_servers = set(architecture.calls(system_calls.SERVER_CALLS).values())
    assert {number for number in range(1000) if alone(number) == 0} == allowed
    assert {number for number in range(1000) if server(number) == 0} == allowed | of_servers
    for name, number in REFUSED[machine].items():
        assert alone(number) ^ 0x7FFF0000 == EPERM, name
    for name, number in TRIED.items():
        assert alone(number) ^ 0x7FFF0000 == ENOSYS, name
    assert alone(0, audit=0x40000003), "calls of 32 bits have other numbers"
    assert alone(0x40000000), "and so have those of x32"


@MACHINES
def test_a_program_signals_and_limits_itself_and_what_is_younger(machine: str) -> None:
    verdict = verdict_of(machine, protected=[20, 77, 88])
    for name in SIGNALS:
        number = number_of(machine, name)
        yes = {
            pid for pid in (0, 50, 51, 99, -50, -99, 1, 20, 49, -1, -2, -49, 77, 88, -77) if verdict(number, pid) == 0
        }
        assert yes == {0, 50, 51, 99, -50, -99}, name


@MACHINES
def test_the_filter_looks_at_arguments(machine: str) -> None:
    alone, server = verdict_of(machine), verdict_of(machine, network=True)
    for name, arguments, of_servers in (
        ("clone", (0x10000000,), True),  # CLONE_NEWUSER
        ("socketpair", (1, socket.SOCK_DGRAM), True),
        ("fcntl", (0, 8), False),  # F_SETOWN
        ("ioctl", (0, 0x5412), False),  # TIOCSTI
    ):
        assert alone(number_of(machine, name), *arguments)
        assert (server(number_of(machine, name), *arguments) == 0) is of_servers
    for name, arguments in (
        ("clone", (0x003D0F00,)), ("socketpair", (1, socket.SOCK_STREAM)), ("fcntl", (0, 2)), ("ioctl", (0, 0x5401)),
    ):  # fmt: skip
        assert alone(number_of(machine, name), *arguments) == 0, name


def test_an_architecture_without_a_table_has_no_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    with pytest.raises(OSError, match="not implemented"):
        seccomp.install(network=False, protected=[])


def test_without_a_filter_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seccomp.platform, "machine", lambda: "riscv64")
    assert supervise(ORDER)[0].errno == errno.ENOSYS
