"""What a hostile program can do in the room without rights: nothing beyond its folder, its time and its shares.

A test runs in namespaces, with Landlock, and without both, as on Lambda, unless they make no difference.
"""

import errno
import json
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event, get_native_id
from typing import Any

import pytest

from mcpist.errors import AnswerTooLarge, McpistError, OutputRefused, ProgramLimitReached, ProgramUnavailable, Timeout
from mcpist.programs.messages import Limits, ProgramRequest
from program_runner.confinement.kernel import forbid_inspection
from program_runner.confinement.processes import threads
from program_runner.run import run
from tests.program_runner.conftest import Run, write_script

TEXT = [{"glob": "**", "content_type": "text/plain"}]
AS_ON_LAMBDA = pytest.mark.parametrize("hostile", ["neither"], indirect=True)
"""For what namespaces do not change."""
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOENT, errno.ESRCH)


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Runs have their folders in an own one, which is empty again at the end."""
    own = tmp_path / "runs"
    own.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    yield
    assert list(own.iterdir()) == []


def answer(hostile: Run, *arguments: str, **fields: Any) -> Any:
    result = hostile(*arguments, **fields)
    assert result.exit_code == 0, result
    return json.loads(result.stdout)


def refused(error: type[McpistError], hostile: Run, *arguments: str, **fields: Any) -> McpistError:
    with pytest.raises(error) as found:
        hostile(*arguments, **fields)
    return found.value


def test_its_environment_is_the_allow_list_and_what_its_request_names(
    hostile: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_LAMBDA_RUNTIME_API", "CANARY", "_HANDLER"):
        monkeypatch.setenv(name, "canary")
    found = answer(hostile, "environment", environment={"LOCALE": "de"})
    allowed = {"PATH", "LD_LIBRARY_PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LOCALE"}
    assert set(found) <= {*allowed, "SSL_CERT_FILE", "SSL_CERT_DIR"}
    assert found["LOCALE"] == "de"
    assert found["HOME"] == found["TMPDIR"]
    assert "canary" not in json.dumps(found)


def test_it_reads_neither_the_environment_nor_the_memory_of_the_processes_above_it(hostile: Run) -> None:
    forbid_inspection()  # as the handler does
    found = answer(hostile, "parents", str(os.getpid()))
    assert len(found) >= 10
    assert {path: said for path, said in found.items() if said not in REFUSED} == {}


def test_it_opens_no_socket_to_the_runtime_to_metadata_or_to_anybody(hostile: Run) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as runtime:
        address = f"127.0.0.1:{runtime.getsockname()[1]}"
        found = answer(hostile, "reach", address, "169.254.169.254:80", "169.254.170.2:80")
    assert set(found.values()) == {errno.EPERM}
    assert len(found) == 5


def test_a_program_that_may_use_the_network_reaches_it(hostile: Run) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        server.settimeout(5)
        found = answer(hostile, "reach", address, network=True, limits={"seconds": 5})
    assert found[address] not in REFUSED


def test_a_thousand_forks_are_ended_and_none_is_left(hostile: Run) -> None:
    before = running("fork")
    error = refused(ProgramLimitReached, hostile, "fork", limits={"processes": 20, "seconds": 10})
    assert error.details["resource"] == "processes"
    assert running("fork") == before


@AS_ON_LAMBDA
def test_two_gigabytes_in_one_file_are_stopped_at_its_limit(hostile: Run) -> None:
    error = refused(ProgramLimitReached, hostile, "write", limits={"file_bytes": 3_000_000})
    assert error.details["limit"] == 3_000_000


def test_two_gigabytes_in_many_files_are_stopped_at_the_folders_limit(hostile: Run) -> None:
    error = refused(ProgramLimitReached, hostile, "scatter", limits={"folder_bytes": 5_000_000})
    assert error.details["resource"] == "bytes in its folder"


@AS_ON_LAMBDA
def test_memory_beyond_its_limit_is_not_given(hostile: Run) -> None:
    result = hostile("swell", limits={"memory_bytes": 1 << 28})
    assert result.exit_code == 1
    assert "MemoryError" in result.stderr_tail


def test_shared_memory_counts_as_its_own(hostile: Run) -> None:
    error = refused(ProgramLimitReached, hostile, "share", limits={"memory_bytes": 1 << 26, "seconds": 10})
    assert error.details["resource"] == "bytes of shared memory"


def test_threads_count_as_processes(hostile: Run) -> None:
    error = refused(ProgramLimitReached, hostile, "thread", limits={"processes": 20, "seconds": 10})
    assert error.details["resource"] == "processes"


def test_what_ignores_sigterm_is_killed_with_its_children_in_other_sessions(hostile: Run) -> None:
    started = time.monotonic()
    error = refused(Timeout, hostile, "ignore", limits={"seconds": 0.5})
    assert error.details["seconds"] == 0.5
    assert time.monotonic() - started < 50  # it sleeps for a minute
    assert running("ignore") == 0


def test_a_grandchild_that_is_left_behind_holds_nothing_up_and_is_ended(hostile: Run) -> None:
    started = time.monotonic()
    assert answer(hostile, "daemon") == "done"
    assert time.monotonic() - started < 50  # the child sleeps for a minute
    assert running("left-behind") == 0


@AS_ON_LAMBDA
def test_a_hundred_megabytes_of_output_end_it(hostile: Run) -> None:
    error = refused(AnswerTooLarge, hostile, "shout", limits={"stdout_bytes": 100_000})
    assert error.details["limit_bytes"] == 100_000


@AS_ON_LAMBDA
def test_of_its_standard_error_only_the_end_is_kept(hostile: Run) -> None:
    result = hostile("complain")
    assert result.exit_code == 3
    assert len(result.stderr_tail) <= 8_000
    assert result.stderr_tail.endswith("the end")


@AS_ON_LAMBDA
def test_what_hangs_ends_in_time(hostile: Run) -> None:
    assert refused(Timeout, hostile, "hang", limits={"seconds": 0.3}).code == "TIMEOUT"


@AS_ON_LAMBDA
def test_a_death_by_a_signal_is_a_result_that_names_it(hostile: Run) -> None:
    result = hostile("die")
    assert (result.exit_code, result.signal) == (None, "SIGSEGV")


@AS_ON_LAMBDA
@pytest.mark.parametrize("target", ["/proc/self/environ", "/etc/passwd", "../../x", "/dev/zero"])
def test_no_link_is_followed_out_of_its_folder(hostile: Run, target: str) -> None:
    error = refused(OutputRefused, hostile, "link", target, outputs=TEXT)
    assert "out.txt" in error.details["problem"]


@AS_ON_LAMBDA
def test_a_folder_that_leads_elsewhere_has_no_outputs(hostile: Run, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("canary")
    assert hostile("link_folder", str(tmp_path / "secret.txt"), outputs=TEXT).outputs == ()


@AS_ON_LAMBDA
@pytest.mark.parametrize("name", [b"a\nb", b"a\x1bb", b"\xff\xfe", b"back\\slash", "\u202etxt".encode()])
def test_outputs_with_strange_names_are_refused_without_their_characters(hostile: Run, name: bytes) -> None:
    error = refused(OutputRefused, hostile, "name", name.hex(), outputs=TEXT)
    assert str(error).isprintable()
    assert str(error).isascii()


@AS_ON_LAMBDA
def test_a_pipe_is_no_output_and_holds_nobody_up(hostile: Run) -> None:
    assert "no file" in refused(OutputRefused, hostile, "pipe", outputs=TEXT).details["problem"]


@AS_ON_LAMBDA
def test_a_file_beside_its_folder_is_no_output_and_is_gone(hostile: Run) -> None:
    assert hostile("name", b"../x".hex(), outputs=TEXT).outputs == ()


@AS_ON_LAMBDA
def test_a_folder_that_it_closed_is_removed(hostile: Run) -> None:
    hostile("close")


def test_its_limits_are_those_of_the_request_and_there_is_no_core(hostile: Run) -> None:
    limits = Limits(memory_bytes=1 << 28, file_bytes=1_000, processes=30)
    found = answer(hostile, "core", limits=limits.model_dump())
    assert found["CORE"] == [0, 0]
    assert found["DATA"] == [1 << 28, 1 << 28]
    assert found["FSIZE"] == [1_000, 1_000]
    assert found["NPROC"][0] >= 30


def test_it_signals_traces_and_limits_nobody(hostile: Run) -> None:
    forbid_inspection()
    us = [str(number) for number in {os.getpid(), *threads()}]
    with _other_thread() as thread:
        found = answer(hostile, "attack", *us, str(thread))
    assert found.pop("capabilities") == "0000000000000000"
    assert set(found.values()) <= {errno.EPERM, errno.ESRCH}
    attempts = ("kill", "ptrace", "tkill", "prlimit", "affinity", "scheduler", "priority", "owner")
    assert {"kill -1", *(f"{attempt} {os.getpid()}" for attempt in attempts)} <= set(found)


@contextmanager
def _other_thread() -> Iterator[int]:
    """Yield the number of another thread of this process."""
    ended = Event()
    with ThreadPoolExecutor(1) as pool:
        number = pool.submit(get_native_id).result()
        pool.submit(ended.wait)
        yield number
        ended.set()


PYTHON = os.path.realpath(sys.executable)
PROGRAMS_OF_MANY_CALLS = {
    PYTHON: """
import asyncio, concurrent.futures, os, resource, signal, socket, sqlite3, subprocess
os.abort() if os.fork() == 0 else os.wait()
one, other = socket.socketpair()
resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))
os.sched_setaffinity(0, os.sched_getaffinity(0))
child = subprocess.Popen(["sleep", "60"], start_new_session=True)
os.killpg(child.pid, signal.SIGTERM)
assert child.wait() == -signal.SIGTERM
list(concurrent.futures.ThreadPoolExecutor(4).map(str, range(9)))
sqlite3.connect("x.db").execute("create table a(b)")
async def main():
    process = await asyncio.create_subprocess_exec("sleep", "60")
    process.kill()
    await process.wait()
asyncio.run(main())
print("done")
""",
    "node": """
const child = require("child_process"), fs = require("fs"), worker = require("worker_threads");
fs.writeFileSync("a", child.execSync("echo hi"));
const sleeping = child.spawn("sleep", ["60"]);
sleeping.on("exit", () => new worker.Worker("1", {eval: true}).on("exit", () => console.log("done")));
require("zlib").gzip(fs.readFileSync("a"), () => sleeping.kill());
""",
    "bash": """
set -e; for i in 1 2 3; do echo $i | tr 1 2 > f$i & done; wait; sort f? | uniq -c > all
tar cf all.tar f1 f2 && tar xf all.tar && cp -a f1 f4 && gzip -k all && mkfifo pipe && sed -i s/2/3/ f1
(sleep 60 & kill $!; wait $! || true); timeout 0.1 sleep 60 || true; find . -type f | xargs cat > /dev/null; echo done
""",
    "perl": """print "done\n" if `echo hi` eq "hi\n" and !system "true" """,
}


@pytest.mark.parametrize("interpreter", list(PROGRAMS_OF_MANY_CALLS))
def test_programs_have_the_system_calls_that_they_need(interpreter: str, allow: Callable[..., None]) -> None:
    program = shutil.which(interpreter)
    if program is None:
        pytest.skip(f"{interpreter} is not installed")
    allow(program)
    option = "-c" if interpreter in {PYTHON, "bash"} else "-e"
    asked = {"organization": "acme", "program": program, "arguments": (option, PROGRAMS_OF_MANY_CALLS[interpreter])}
    result = run(ProgramRequest.model_validate(asked), namespaces=False)
    assert (result.exit_code, result.stdout, result.stderr_tail) == (0, b"done\n", "")


HIDDEN = pytest.mark.parametrize("hostile", ["namespaces", "landlock"], indirect=True)


@HIDDEN
def test_it_changes_no_file_but_those_of_its_folder(hostile: Run, tmp_path: Path) -> None:
    _skip_unless_hidden(hostile)
    victim = tmp_path / "victim"
    victim.write_text("as it was")
    found = answer(hostile, "escape", str(victim), str(Path.home() / "escaped"), "/tmp/escaped", "/usr/escaped")
    assert found.pop("../x") == "written", "it is in the run's own folder"
    assert set(found.values()) <= {errno.EROFS, errno.ENOENT, errno.EACCES}
    assert victim.read_text() == "as it was"


@HIDDEN
def test_it_sees_no_file_of_this_machine_but_its_own_and_what_is_installed(hostile: Run, tmp_path: Path) -> None:
    _skip_unless_hidden(hostile)
    (tmp_path / "secret.txt").write_text("canary")
    links = ["/proc/1/root/etc/passwd", f"/proc/{os.getpid()}/root/etc/passwd", f"/proc/{os.getpid()}/cwd/Makefile"]
    paths = [str(tmp_path / "secret.txt"), str(Path.cwd() / "Makefile"), "/etc/passwd", "/etc/hostname", *links]
    folders = {"/tmp", "/var", "/etc/ssh", "/root/.ssh", str(Path.home() / ".ssh"), str(Path.cwd() / "tests")}
    found = answer(hostile, "look", *paths, *folders)
    assert {path: said for path, said in found.items() if said not in {*REFUSED, "[]"}} == {}
    assert isinstance(answer(hostile, "look", PYTHON)[PYTHON], str)


def test_where_no_file_can_be_hidden_only_packaged_programs_run(
    allow: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    program = write_script(package / "tool", "print('ran')")
    monkeypatch.setenv("PROGRAMS", str(package))
    monkeypatch.setenv("LOCAL_SERVICES", "on")
    allow(program)

    def start(name: str, *, reads_files: bool) -> bytes:
        message = ProgramRequest(organization="acme", program=name, reads_files=reads_files)
        return run(message, namespaces=False, landlock=False).stdout

    assert start("tool", reads_files=False) == b"ran\n"
    for name, reads_files in ((str(program), False), ("tool", True)):
        with pytest.raises(ProgramUnavailable, match="only packaged programs run"):
            start(name, reads_files=reads_files)
    monkeypatch.setenv("LOCAL_SERVICES", "")
    allow()
    assert start("tool", reads_files=True) == b"ran\n", "Lambda has no files of anybody"


def _skip_unless_hidden(hostile: Run) -> None:
    if {"files", "landlock"}.isdisjoint(hostile("core").isolation):
        pytest.skip("this kernel hides no files in this way")


def running(word: str) -> int:
    """Return how many processes of the hostile program run, in any namespace."""
    counted = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            counted += word.encode() in command
    return counted
