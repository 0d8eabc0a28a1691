"""Hostile programs: each function is one, and its docstring says what it tries. It returns what became of each attempt.

An attempt that failed is the number of its error, or "nothing"; any other answer is a gain. `guard` is a file of this
machine, `pid` the runner's process: both are told to every program.
"""

import contextlib
import ctypes
import errno
import fcntl
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = os.getcwd()
LIBC = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
PROGRAMS = {}


def program(function):
    """Add a program to the corpus."""
    PROGRAMS[function.__name__] = function
    return function


def attempt(action, *arguments):
    """Return the error of an action, or what it gained."""
    try:
        gained = action(*arguments)
    except OSError as error:
        return error.errno
    return "nothing" if gained in (None, b"", "", [], 0, False) else f"gained {gained!r:.80}"


def call(number, *arguments):
    """Make a system call by its number."""
    if LIBC.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments)) < 0:
        raise OSError(ctypes.get_errno(), "")
    return "a call"


def above():
    """Return the watcher, the supervisor, the organization's process or the runner, as far as /proc shows them."""
    pid, found = os.getppid(), []
    while pid > 1 and len(found) < 3:
        found.append(pid)
        with contextlib.suppress(OSError):
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
            continue
        break
    return found


def told(content):
    """Return whether something is the guarded file's."""
    return "the guarded content" if "canary" in str(content) else None


def read(path):
    """Return whether a file holds the guarded content."""
    return told(Path(path).read_bytes())


# -- other processes -----------------------------------------------------------------------------------------------
@program
def kill_the_supervisor(_, pid):
    """Kill the two processes that would end it, and signal the runner."""
    kill = [attempt(lambda one=one: os.kill(one, signal.SIGKILL) or "killed") for one in above()[:2]]
    return [*kill, *(attempt(lambda one=one: os.kill(one, 0) or "signalled") for one in (*above(), pid))]


@program
def kill_groups(_, pid):
    """Signal the groups of the processes above it."""
    return [attempt(lambda one=one: os.killpg(one, 0) or "signalled") for one in (*above(), pid)]


@program
def kill_everybody(_guard, _pid):
    """Signal all processes of its user at once."""
    return attempt(lambda: os.kill(-1, 0) or "signalled")


@program
def kill_a_thread(_, pid):
    """Signal threads by tkill and tgkill, whose numbers are not those of processes."""
    numbers = (200, 234) if X86 else (130, 131)
    tries = [attempt(call, numbers[0], one, 0) for one in (*above(), pid)]
    return tries + [attempt(call, numbers[1], one, one, 0) for one in (*above(), pid)]


@program
def queue_a_signal(_, pid):
    """Queue a signal for the runner."""
    siginfo = ctypes.create_string_buffer(128)
    return attempt(call, 129 if X86 else 138, pid, signal.SIGWINCH, ctypes.addressof(siginfo))


@program
def signal_by_a_descriptor(_, pid):
    """Open the runner as a descriptor, and signal it by that."""
    return attempt(lambda: signal.pidfd_send_signal(os.pidfd_open(pid), signal.SIGWINCH) or "signalled")


@program
def signal_by_a_pipe(_, pid):
    """Let the kernel signal the runner when a pipe can be read."""

    def own():
        reader, _ = os.pipe()
        fcntl.fcntl(reader, fcntl.F_SETOWN, pid)
        return "owned by the runner"

    return attempt(own)


@program
def signal_by_a_socket(_, pid):
    """Do the same with a socket and another call."""

    def own():
        one, _ = socket.socketpair()
        fcntl.ioctl(one, 0x8901, pid.to_bytes(4, "little"))
        return "owned by the runner"

    return attempt(own)


@program
def limit_the_runner(_, pid):
    """Lower the runner's limits, so that every later run fails."""
    tries = [(one, kind) for one in (*above(), pid) for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU)]
    return [attempt(resource.prlimit, one, kind) for one, kind in tries]


@program
def slow_the_runner(_, pid):
    """Pin the runner to a processor, and give it the least priority."""
    return [
        attempt(lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid)) or "pinned"),
        attempt(lambda: os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0)) or "scheduled"),
        attempt(lambda: os.setpriority(os.PRIO_PROCESS, pid, 0) or "nice"),
        attempt(lambda: os.setpriority(os.PRIO_USER, 0, 0) or "nice"),
    ]


@program
def trace_the_runner(_, pid):
    """Trace the processes above it."""
    attach, seize = 16, 0x4206
    return [attempt(call, 101 if X86 else 117, how, one, 0, 0) for one in (*above(), pid) for how in (attach, seize)]


@program
def read_foreign_memory(_, pid):
    """Read the runner's memory by process_vm_readv and by /proc."""
    vector = (ctypes.c_long * 2)(0, 8)
    by_call = attempt(call, 310 if X86 else 270, pid, ctypes.addressof(vector), 1, ctypes.addressof(vector), 1, 0)
    return [by_call, *(attempt(lambda one=one: Path(f"/proc/{one}/mem").open("rb")) for one in (*above(), pid))]


@program
def take_a_foreign_descriptor(_guard, _pid):
    """Take the runner's descriptors by pidfd_getfd and by /proc."""
    tries = [attempt(call, 438, 3, number, 0) for number in range(4)]
    return tries + [attempt(os.open, f"/proc/{one}/fd/{number}", os.O_RDWR) for one in above() for number in range(4)]


@program
def read_foreign_environments(_, pid):
    """Read environments by /proc, among them those of processes that it does not know."""
    pids = [entry for entry in os.listdir("/proc") if entry.isdecimal() and int(entry) != os.getpid()] if proc() else []
    return [attempt(read, f"/proc/{one}/environ") for one in (*pids, *above(), pid) if int(one) != os.getpid()]


def proc():
    """Return whether it may list /proc."""
    return attempt(os.listdir, "/proc") not in (errno.EACCES, errno.ENOENT)


@program
def write_into_proc(_, pid):
    """Let the kernel end the runner first when memory is short."""
    return [
        attempt(lambda one=one, name=name: os.open(f"/proc/{one}/{name}", os.O_WRONLY) or "opened")
        for one in (*above(), pid)
        for name in ("oom_score_adj", "mem", "clear_refs", "comm", "timerslack_ns")
    ]


# -- outliving its run ----------------------------------------------------------------------------------------------
def leave(*detach):
    """Leave a process behind that is marked and sleeps, after these actions."""
    if os.fork() == 0:
        for action in detach:
            action()
        os.closerange(0, 3)
        subprocess.call([sys.executable, "-c", "import time; time.sleep(600)", sys.argv[2]])
    time.sleep(0.1)
    return "nothing"


@program
def leave_a_daemon(_guard, _pid):
    """Leave a process in another session."""
    return leave(os.setsid)


@program
def leave_an_orphan(_guard, _pid):
    """Leave a process whose parents have ended, in sessions of their own."""
    return leave(os.setsid, orphan, os.setsid, orphan)


def orphan():
    """Go on as a child whose parent has ended."""
    if os.fork():
        os._exit(0)


@program
def leave_a_deaf_process(_guard, _pid):
    """Leave a process that ignores all signals that it can."""
    return leave(lambda: [attempt(signal.signal, number, signal.SIG_IGN) for number in set(signal.Signals) - {9, 19}])


@program
def leave_a_subreaper(_guard, _pid):
    """Adopt its own orphans, so that they are nobody's children above it."""
    LIBC.prctl(36, 1, 0, 0, 0)
    return leave(lambda: LIBC.prctl(36, 1, 0, 0, 0), orphan)


@program
def leave_a_stopped_process(_guard, _pid):
    """Leave a process that is stopped, and takes no signal but one."""
    return leave(os.setsid, lambda: os.kill(os.getpid(), signal.SIGSTOP))


@program
def leave_a_sibling(_guard, _pid):
    """Make a process that is its parent's child by CLONE_PARENT."""
    if LIBC.syscall(56 if X86 else 220, ctypes.c_long(0x8000 | signal.SIGCHLD), 0, 0, 0, 0) == 0:
        time.sleep(600)
    return "nothing"


@program
def fork_without_end(_guard, _pid):
    """Fork until the limit, each child too."""
    while True:
        with contextlib.suppress(OSError):
            os.fork()


@program
def fork_in_a_chain(_guard, _pid):
    """Go on as its own child again and again, faster than anybody can kill it."""
    if os.fork() == 0:
        os.setsid()
        until = time.monotonic() + 600
        while time.monotonic() < until:
            if os.fork():
                os._exit(0)
    time.sleep(0.1)
    return "nothing"


@program
def start_threads_without_end(_guard, _pid):
    """Start threads until the limit."""
    threading.stack_size(1 << 16)
    for _ in range(5000):
        try:
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        except RuntimeError:
            return "nothing"
    return f"gained {threading.active_count()} threads" if threading.active_count() > 4900 else "nothing"


# -- files ----------------------------------------------------------------------------------------------------------
@program
def read_the_guarded_file(guard, _):
    """Read a file of this machine by its name."""
    return attempt(read, guard)


@program
def read_it_by_a_link(guard, _):
    """Read it by a link, by a link to its folder, and by a hard link."""
    os.symlink(guard, "link")
    os.symlink(os.path.dirname(guard), "folder")
    hard = attempt(lambda: os.link(guard, "hard") or "linked")
    return [attempt(read, "link"), attempt(read, f"folder/{os.path.basename(guard)}"), hard]


@program
def read_it_by_proc(guard, pid):
    """Read it below the roots and working directories that /proc shows."""
    roots = [f"/proc/{one}/{name}" for one in ("self", 1, *above(), pid) for name in ("root", "cwd")]
    return [attempt(read, f"{root}/{guard}") for root in roots] + [attempt(read, f"/proc/self/root/..{guard}")]


@program
def read_it_by_dots(guard, _):
    """Read it by a path of parent folders."""
    return attempt(read, "../" * 40 + guard.lstrip("/"))


@program
def read_it_by_another_program(guard, _):
    """Let cat, sh and find read it."""
    commands = (["cat", guard], ["sh", "-c", f"cat < {guard}"], ["find", guard, "-exec", "cat", "{}", ";"])
    return [
        attempt(lambda one=one: told(subprocess.run(one, capture_output=True, check=False).stdout)) for one in commands
    ]


@program
def open_by_handle(guard, _):
    """Open a file by a handle, past all names."""
    handle, mount = ctypes.create_string_buffer(136), ctypes.c_int()
    name = ctypes.create_string_buffer(guard.encode())
    pointers = ctypes.addressof(name), ctypes.addressof(handle), ctypes.addressof(mount)
    numbers = (303, 304) if X86 else (264, 265)
    return [attempt(call, numbers[0], -100, *pointers, 0), attempt(call, numbers[1], 3, ctypes.addressof(handle), 0)]


@program
def change_the_guarded_file(guard, _):
    """Write, append to, truncate, rename, remove and touch it."""
    return [
        attempt(lambda: Path(guard).write_text("gone")),
        attempt(lambda: Path(guard).open("a").write("more")),
        attempt(lambda: os.truncate(guard, 0) or "truncated"),
        attempt(lambda: os.rename(guard, f"{guard}.old") or "renamed"),
        attempt(lambda: os.unlink(guard) or "removed"),
    ]


@program
def write_elsewhere(guard, _):
    """Make files in other folders, the package's too."""
    folders = ("/usr/bin", "/usr/lib", "/etc", os.path.dirname(guard), os.path.dirname(sys.argv[0]))
    return [attempt(lambda one=one: Path(one, "made").write_text("x")) for one in folders]


@program
def change_mounts(guard, _):
    """Mount, unmount, change the root, and take the mounts of the runner."""
    numbers = {"mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308}
    if not X86:
        numbers = {"mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268}
    folder = ctypes.create_string_buffer(os.path.dirname(guard).encode())
    at = ctypes.addressof(folder)
    return [attempt(call, number, at, at, at, 0x1000, 0) for number in numbers.values()] + [
        attempt(call, number, 0, at, 1) for number in (428, 429, 430, 432, 442)
    ]


@program
def make_a_namespace(_guard, _pid):
    """Become root in a user namespace, by clone and by clone3."""
    arguments = (ctypes.c_ulong * 8)(0x10000000)
    return [
        attempt(lambda: os.unshare(os.CLONE_NEWUSER) or "root"),
        attempt(call, 56 if X86 else 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
        attempt(call, 435, ctypes.addressof(arguments), 64),
    ]


@program
def close_folders_within_each_other(_guard, _pid):
    """Leave folders that nobody may open, each in the other."""
    os.makedirs("a/b/c/d")
    for path in ("a/b/c/d", "a/b/c", "a/b", "a"):
        os.chmod(path, 0)
    return "nothing"


@program
def make_a_path_that_is_too_long(_guard, _pid):
    """Leave a tree that is deeper than any path may be."""
    for _ in range(100):
        os.mkdir("x" * 100)
        os.chdir("x" * 100)
    return "nothing"


@program
def leave_devices(_guard, _pid):
    """Make device files."""
    return [
        attempt(lambda kind=kind: os.mknod("device", kind | 0o666, os.makedev(1, 1)) or "made")
        for kind in (0o20000, 0o60000)
    ]


@program
def gain_rights(_guard, _pid):
    """Become root, and gain capabilities by files and calls."""
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)
    set_all = attempt(call, 126 if X86 else 91, ctypes.addressof(header), ctypes.addressof(sets))
    lines = Path("/proc/self/status").read_text().splitlines()
    effective = next(line for line in lines if line.startswith("CapEff")).split()[1]
    return [set_all, "nothing" if int(effective, 16) == 0 else f"gained {effective}"]


# -- memory and the kernel ------------------------------------------------------------------------------------------
@program
def keep_memory_in_a_file(_guard, _pid):
    """Keep memory in a file of memory, which no limit counts, and run a program from it."""
    return [attempt(os.memfd_create, "hidden"), attempt(call, 447, 0)]


@program
def share_memory(_guard, _pid):
    """Make memory, queues and semaphores that outlive their maker."""
    numbers = (29, 64, 68, 240) if X86 else (194, 190, 186, 180)
    return [attempt(call, number, 0x1234, 4096, 0o1666) for number in numbers]


@program
def leave_a_file_of_memory(_guard, _pid):
    """Leave a file in the memory that all processes share."""
    return attempt(lambda: Path("/dev/shm", f"left-{os.getpid()}").write_text("x"))


@program
def take_all_memory(_guard, _pid):
    """Take 8 GB of memory."""
    try:
        return f"gained {len(mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))} bytes"
    except OSError as error:
        return error.errno


@program
def take_all_shared_memory(_guard, _pid):
    """Take 3 GB of memory that it shares with its children, which the kernel does not count as its own."""
    taken = [mmap.mmap(-1, 3 << 30)]
    for place in range(0, 3 << 30, 1 << 24):
        taken[0][place : place + (1 << 24)] = b"x" * (1 << 24)
        time.sleep(0.01)
    return "gained 3 GB"


@program
def use_io_uring(_guard, _pid):
    """Open a socket and files by io_uring, past a filter of calls."""
    parameters = ctypes.create_string_buffer(120)
    return attempt(call, 425, 4, ctypes.addressof(parameters))


@program
def load_into_the_kernel(_guard, _pid):
    """Load programs and modules into the kernel, and read its log."""
    numbers = (321, 298, 323, 175, 313, 246, 103) if X86 else (280, 241, 282, 105, 273, 104, 116)
    return [attempt(call, number, 0, 0, 0, 0, 0) for number in numbers]


@program
def use_keys(_guard, _pid):
    """Leave a secret in the kernel's keys for the next one, or find one."""
    return [attempt(call, number, 0, -3, 0, 0, 0) for number in ((248, 249, 250) if X86 else (217, 218, 219))]


@program
def call_as_another_machine(_guard, _pid):
    """Make calls by the numbers of x32, which a filter of numbers could miss."""
    return attempt(call, 0x40000000 + 39)


# -- the network ----------------------------------------------------------------------------------------------------
@program
def reach_metadata(_guard, _pid):
    """Connect to the runtime's API and to addresses of metadata."""
    addresses = (("127.0.0.1", 9001), ("169.254.169.254", 80), ("169.254.170.2", 80), ("fd00:ec2::254", 80))
    return [attempt(lambda one=one: socket.create_connection(one, timeout=1)) for one in addresses]


@program
def open_any_socket(_guard, _pid):
    """Open sockets of all kinds."""
    kinds = [(family, kind) for family in (1, 2, 10, 16, 17, 38, 40) for kind in (1, 2, 3)]
    return [attempt(lambda one=one: socket.socket(*one)) for one in kinds]


@program
def send_from_a_pair(_guard, _pid):
    """Send datagrams to others from a pair of sockets."""
    return attempt(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", "/dev/log"))


@program
def type_into_a_terminal(_guard, _pid):
    """Type a command into the terminal from which the machine was started."""
    return [attempt(lambda: fcntl.ioctl(0, 0x5412, b"x") or "typed"), attempt(os.open, "/dev/tty", os.O_RDWR)]


# -- its answer -----------------------------------------------------------------------------------------------------
@program
def answer_with_a_link(guard, _):
    """Hand out the guarded file as an output."""
    os.symlink(guard, "out.txt")
    return "nothing"


@program
def answer_with_a_pipe(_guard, _pid):
    """Hand out a pipe, at which a reader would wait."""
    os.mkfifo("out.txt")
    return "nothing"


@program
def answer_without_end(_guard, _pid):
    """Write to its standard output without end."""
    while True:
        os.write(1, b"x" * 65536)


@program
def write_without_end(_guard, _pid):
    """Fill the disk by many files."""
    for number in range(100_000):
        Path(f"file-{number}").write_bytes(b"x" * 1_000_000)
        time.sleep(0.01)


@program
def leave_many_entries(_guard, _pid):
    """Fill the disk by entries that hold nothing."""
    for number in range(12_000):
        Path(f"file-{number}.txt").touch()
    return "nothing"


if __name__ == "__main__":
    answer = PROGRAMS[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
    os.chdir(HERE)
    sys.stdout.write(json.dumps(answer if isinstance(answer, list) else [answer]))
