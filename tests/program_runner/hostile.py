"""A program that does what foreign code should not be able to do; its first argument says what. It prints JSON."""

import contextlib
import ctypes
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


def environment():
    """Print its environment."""
    return dict(os.environ)


def parents():
    """Read what /proc shows of the processes above it, and of the process whose number it was told."""
    found = {}
    pids = {"1", str(os.getppid()), *sys.argv[2:]}
    with contextlib.suppress(OSError, IndexError):
        pids.add(Path(f"/proc/{os.getppid()}/stat").read_text().rpartition(")")[2].split()[1])
    for pid in pids:
        for file in ("environ", "mem", "maps", "cwd", "fd/0", "fd/3"):
            path = f"/proc/{pid}/{file}"
            try:
                found[path] = read(path)
            except OSError as error:
                found[path] = error.errno
    return found


def read(path):
    if path.endswith("cwd"):
        return os.readlink(path)
    with open(path, "rb") as file:
        return repr(file.read(1))


def reach():
    """Try every address that it was told: the runtime's API, the metadata address, and sockets of other kinds."""
    found = {}
    for address in sys.argv[2:]:
        host, _, port = address.partition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=1) as connection:
                connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
                found[address] = repr(connection.recv(10))
        except OSError as error:
            found[address] = error.errno
    for kind in (socket.AF_UNIX, socket.AF_NETLINK):
        try:
            socket.socket(kind, socket.SOCK_DGRAM).close()
            found[kind.name] = "opened"
        except OSError as error:
            found[kind.name] = error.errno
    return found


def fork():
    """Fork 1,000 times."""
    for _ in range(1000):
        try:
            if os.fork() == 0:
                signal.pause()
        except OSError as error:
            sys.stdout.write(str(error.errno))
            sys.stdout.flush()
            break
    time.sleep(60)


def write():
    """Write 2 GB into one file."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    with open("big", "wb") as file:
        for _ in range(2048):
            file.write(b"x" * 1_000_000)
            file.flush()


def scatter():
    """Write 2 GB into many files."""
    for number in range(2048):
        Path(f"part-{number}").write_bytes(b"x" * 1_000_000)
        time.sleep(0.02)


def swell():
    """Take 8 GB of memory."""
    return len(bytearray(8 << 30))


def share():
    """Take 200 MB of memory that it shares with its children."""
    taken = mmap.mmap(-1, 200_000_000)
    for _ in range(200):
        taken.write(b"x" * 1_000_000)
    time.sleep(60)


def thread():
    """Start a hundred threads."""
    for _ in range(100):
        try:
            threading.Thread(target=time.sleep, args=(60,)).start()
        except RuntimeError:
            break


def ignore():
    """Ignore SIGTERM, and so does its child in another session."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
    time.sleep(60)


def daemon():
    """Leave a grandchild behind that holds the output open."""
    subprocess.Popen([sys.executable, "-c", "import os,time; os.setsid(); time.sleep(60)", "left-behind"])
    return "done"


def outlive():
    """Leave a grandchild that has left the group, the session and the pipes, and kills what would end it."""
    above = ancestors()[:2]
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for pid in above:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            os.closerange(0, 64)
            subprocess.call([sys.executable, "-c", "import time; time.sleep(60)", sys.argv[2]])
        os._exit(0)
    os.wait()
    time.sleep(0.3)
    return {"left": True}


def witness():
    """Print what an earlier run may have left: marked processes, changed limits; and the processes above it."""
    marked = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdecimal() and sys.argv[2].encode() in (entry / "cmdline").read_bytes().split(b"\0"):
                marked.append(int(entry.name))
    names = [name for name in vars(resource) if name.startswith("RLIMIT_")]  # NPROC counts those of other programs
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in names if name != "RLIMIT_NPROC"}
    limits["affinity"] = sorted(os.sched_getaffinity(0))
    return {"marked": [pid for pid in marked if pid != os.getpid()], "limits": limits, "above": ancestors()}


def shout():
    """Print 100 MB."""
    for _ in range(100):
        sys.stdout.write("x" * 1_000_000)


def complain():
    """Print 20 MB to standard error."""
    for _ in range(20):
        sys.stderr.write("x" * 1_000_000)
    sys.stderr.write("the end")
    sys.exit(3)


def hang():
    """Never end."""
    time.sleep(3600)


def die():
    """Die by a signal."""
    os.kill(os.getpid(), signal.SIGSEGV)


def link():
    """Leave links out of its folder as outputs."""
    os.symlink(sys.argv[2], "out.txt")


def link_folder():
    """Leave a folder that leads elsewhere."""
    os.symlink(os.path.dirname(sys.argv[2]), "folder")


def name():
    """Leave an output of the name that it was told."""
    Path(os.fsdecode(bytes.fromhex(sys.argv[2]))).write_text("x")


def pipe():
    """Leave a pipe as an output."""
    os.mkfifo("out.txt")


def escape():
    """Write beside its folder, and where it was told."""
    found = {}
    for path in ("../x", *sys.argv[2:]):
        try:
            Path(path).write_text("escaped")
            found[path] = "written"
        except OSError as error:
            found[path] = error.errno
    return found


def look():
    """Read the files and list the folders that it was told."""
    found = {}
    for path in sys.argv[2:]:
        try:
            found[path] = repr(os.listdir(path)) if os.path.isdir(path) else read(path)
            if path == "/tmp":  # its own folder may be in it
                found[path] = repr([name for name in os.listdir(path) if name not in os.getcwd().split("/")])
        except OSError as error:
            found[path] = error.errno
    return found


def close():
    """Close its folder to everybody."""
    os.makedirs("a/b")
    Path("a/b/c").write_text("x")
    os.chmod("a/b", 0)
    os.chmod("a", 0)


def attack():
    """Signal, trace and limit the processes that it was told, and those above it, in ways that harm none."""
    libc, found = ctypes.CDLL(None, use_errno=True), {}
    targets = [*ancestors()[:4], *map(int, sys.argv[2:])]
    for pid in (-1, *targets, *(-pid for pid in targets)):
        try:
            os.kill(pid, 0)
            found[f"kill {pid}"] = "sent"
        except OSError as error:
            found[f"kill {pid}"] = error.errno
    for pid in targets:
        found[f"tkill {pid}"] = 0 if libc.syscall(TKILL, pid, 0) == 0 else ctypes.get_errno()
        libc.ptrace(16, pid, 0, 0)
        found[f"ptrace {pid}"] = ctypes.get_errno()
        for name, change in {
            "prlimit": lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE),
            "affinity": lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(pid)),
            "scheduler": lambda pid: os.sched_setscheduler(pid, os.SCHED_OTHER, os.sched_param(0)),
            "priority": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 0),
            "owner": signal_by_file,
        }.items():
            try:
                change(pid)
                found[f"{name} {pid}"] = "done"
            except OSError as error:
                found[f"{name} {pid}"] = error.errno
    with contextlib.suppress(OSError):
        os.unshare(os.CLONE_NEWUSER)
        found["unshare"] = "done"
    with contextlib.suppress(OSError):
        os.setuid(0)
    lines = Path("/proc/self/status").read_text().splitlines()
    found["capabilities"] = next(line for line in lines if line.startswith("CapEff")).split()[1]
    return found


TKILL = {"x86_64": 200, "aarch64": 130}[os.uname().machine]
F_SETSIG = 10


def signal_by_file(pid):
    """Let the kernel signal a process when a pipe can be read."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETOWN, pid)
    fcntl.fcntl(reader, F_SETSIG, signal.SIGWINCH)
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC)
    os.write(writer, b"x")


def ancestors():
    """Return the processes above it, as far as /proc shows them."""
    pid, found = os.getppid(), []
    while pid > 1:
        found.append(pid)
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            break
    return found


def core():
    """Print its limits."""
    names = ("CORE", "DATA", "FSIZE", "NPROC")
    return {name: resource.getrlimit(getattr(resource, f"RLIMIT_{name}")) for name in names}


if __name__ == "__main__":
    answer = globals()[sys.argv[1]]()
    if answer is not None:
        sys.stdout.write(json.dumps(answer))
