"""Servers as child processes, and the faults that only they have."""

import ctypes
import json
import logging
import os
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcpist.errors import AnswerTooLarge, ProgramUnavailable, Timeout, ToolExecutionError, UpstreamUnavailable
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connections import SHARED, Identity
from mcpist_services.upstream.requests import call_tool, read_resource
from program_runner.process import _INHERITED, network_environment
from tests.clock import HANGING_SECONDS
from tests.upstreams.connected import call, connected_to, deadline_in, faulty

ROOT = Path(__file__).parents[2]


def lives(pid: int) -> bool:
    """Whether a process runs; one that waits to be buried does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_dead(*pids: int) -> None:
    deadline = time.monotonic() + HANGING_SECONDS
    while any(lives(pid) for pid in pids):
        assert time.monotonic() < deadline, "they still run"
        os.sched_yield()


def test_a_server_answers_and_keeps_its_process() -> None:
    with connected_to(one=faulty()) as upstreams:
        assert call(upstreams, "echo", message="hi") == "hi"
        assert call(upstreams, "echo") == call(upstreams, "echo")


def test_a_hanging_tool_times_out_and_says_that_it_may_have_happened() -> None:
    with connected_to(one=faulty(timeout_seconds=1)) as upstreams:
        call(upstreams, "echo")
        with pytest.raises(Timeout) as raised:
            call(upstreams, "hang")
        assert raised.value.details["may_have_happened"]
        assert raised.value.details["seconds"] >= 1


def test_a_hanging_tool_does_not_hold_up_the_others() -> None:
    with connected_to(one=faulty()) as upstreams, ThreadPoolExecutor() as pool:
        first = call(upstreams, "echo")
        hanging = pool.submit(call, upstreams, "hang", seconds=1)
        assert call(upstreams, "echo") == first
        assert not hanging.done()
        with pytest.raises(Timeout):
            hanging.result()
        assert call(upstreams, "echo") == first  # it answers, so its process stays


def test_a_server_that_gives_no_sign_of_life_is_started_anew() -> None:
    with connected_to(one=faulty()) as upstreams:
        first = int(call(upstreams, "echo"))
        with pytest.raises(Timeout):
            upstreams.send("one", SHARED, call_tool("busy", {"seconds": 600}), deadline=deadline_in(0.3))
        second = int(call(upstreams, "echo"))
        assert second != first
        wait_until_dead(first)


def test_a_write_whose_server_dies_may_have_happened_and_is_not_repeated(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    counter.write_text("0")
    with connected_to(one=faulty()) as upstreams:
        with pytest.raises(UpstreamUnavailable) as raised:
            call(upstreams, "count", file=str(counter), die=True)
        assert raised.value.details["may_have_happened"]
        assert "exit code 7" in str(raised.value)
        assert counter.read_text() == "1"
        assert call(upstreams, "echo", message="back") == "back"


def test_a_read_whose_server_dies_is_repeated_once(tmp_path: Path) -> None:
    counter = tmp_path / "count"
    counter.write_text("0")
    with connected_to(one=faulty()) as upstreams:
        with pytest.raises(UpstreamUnavailable) as raised:
            call(upstreams, "count", reads=True, file=str(counter), die=True)
        assert "may_have_happened" not in raised.value.details
    assert counter.read_text() == "2"


def test_a_server_killed_between_two_calls_is_started_again_unnoticed() -> None:
    with connected_to(one=faulty()) as upstreams:
        first = int(call(upstreams, "echo"))
        os.kill(first, signal.SIGKILL)
        wait_until_dead(first)
        assert int(call(upstreams, "echo")) != first


def test_a_flood_on_stderr_blocks_nothing_and_its_end_is_logged_without_secrets(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="program_runner")
    server = faulty(env={"GREETING": "ssm:/mcpist/greeting"})
    identity = Identity(secrets={"ssm:/mcpist/greeting": "sesame"})
    with connected_to(one=server) as upstreams:
        assert call(upstreams, "flood", identity=identity, lines=20_000, message="done") == "done"
    records = [record for record in caplog.records if record.message == "upstream process ended"]
    assert len(records) == 1
    noise = vars(records[0])["stderr"]
    assert "the key is" in noise
    assert "sesame" not in caplog.text + noise
    assert len(noise) <= 500


@pytest.mark.parametrize("way", [(), ("babble",)])
def test_what_is_no_message_on_stdout_is_passed_over(way: tuple[str, ...]) -> None:
    with connected_to(one=faulty(*way)) as upstreams:
        assert call(upstreams, "babble", message="still here") == "still here"


@pytest.mark.parametrize("tool", ["large", "large_first"])
def test_an_answer_over_the_limit_is_refused_and_the_server_lives_on(tool: str) -> None:
    with connected_to(one=faulty()) as upstreams:
        process = call(upstreams, "echo")
        with pytest.raises(AnswerTooLarge) as raised:
            call(upstreams, tool, size=20_000_000)
        assert raised.value.details["limit_bytes"] == 5_000_000
        assert call(upstreams, "echo") == process
        assert len(call(upstreams, tool, size=4_900_000)) == 4_900_000


def test_all_pages_of_5000_tools_are_listed() -> None:
    with connected_to(one=faulty("tools=5000")) as upstreams:
        listing = upstreams.list_tools("one", deadline=deadline_in())
    assert [tool.name for tool in listing.tools] == [f"tool_{number}" for number in range(5000)]


def test_the_sandbox_s_environment_stays_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_LAMBDA_RUNTIME_API"):
        monkeypatch.setenv(name, "ours")
    for name in ("AWS_CONTAINER_AUTHORIZATION_TOKEN", "LEDGER_TABLE", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "ours")
    with connected_to(one=faulty(env={"MODE": "quiet"})) as upstreams:
        told = json.loads(call(upstreams, "environment"))
    assert "ours" not in told.values()
    assert told["MODE"] == "quiet"
    assert set(told) - {"LC_CTYPE"} <= {
        *_INHERITED,
        *network_environment(),
        "HOME",
        "MODE",
    }  # Python itself sets LC_CTYPE


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has this protection")
def test_a_child_can_look_into_no_process_of_ours() -> None:
    with connected_to(one=faulty()) as upstreams:
        call(upstreams, "echo")
        assert ctypes.CDLL(None).prctl(3) == 0  # PR_GET_DUMPABLE


def test_a_child_and_its_children_end_with_the_connections() -> None:
    with connected_to(one=faulty()) as upstreams:
        child, grandchild = int(call(upstreams, "echo")), int(call(upstreams, "spawn"))
        assert lives(child)
        assert lives(grandchild)
    wait_until_dead(child, grandchild)


@pytest.mark.slow
def test_a_child_that_does_not_want_to_end_is_killed() -> None:
    with connected_to(one=faulty("deaf")) as upstreams:
        child = int(call(upstreams, "echo"))
    wait_until_dead(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_even_a_deaf_child_ends_with_a_sandbox_that_is_killed() -> None:
    script = """
        import sys
        sys.path.insert(0, "functions")
        from tests.upstreams.connected import call, connected_to, faulty
        opened = connected_to(one=faulty("deaf"))
        print(call(opened.__enter__(), "echo"), flush=True)
        sys.stdin.read()
    """
    sandbox = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert sandbox.stdin is not None
    assert sandbox.stdout is not None
    with sandbox.stdin, sandbox.stdout:
        child = int(sandbox.stdout.readline())
        assert lives(child)
        sandbox.kill()
        sandbox.wait()
    wait_until_dead(child)


def test_connections_work_in_a_sandbox_that_was_forked_before_their_first_use() -> None:
    script = """
        import os, sys
        sys.path.insert(0, "functions")
        from tests.upstreams.connected import call, connected_to, faulty
        opened = connected_to(one=faulty())
        upstreams = opened.__enter__()
        for sandbox in range(2):
            if os.fork() == 0:
                print(call(upstreams, "echo", message=f"sandbox {sandbox}"), flush=True)
                opened.__exit__(None, None, None)
                os._exit(0)
            os.wait()
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(script)],
        cwd=ROOT, capture_output=True, text=True, timeout=HANGING_SECONDS, check=False,
    )  # fmt: skip
    assert done.stdout.splitlines() == ["sandbox 0", "sandbox 1"], done.stderr


def test_a_server_that_ends_at_once_is_unavailable_with_its_last_words_and_no_secrets() -> None:
    with (
        connected_to(one=faulty("exit")) as upstreams,
        pytest.raises(UpstreamUnavailable, match="exit code 3") as raised,
    ):
        call(upstreams, "echo")
    assert "may_have_happened" not in raised.value.details
    last = r"starting | starting | starting | API_KEY=... \u{1B}[31mno licence for ..."
    assert raised.value.details["problem"] == f"its process ended (exit code 3): {last}"


def test_a_command_that_is_not_there_is_the_operator_s_to_mend_and_not_tried_again() -> None:
    server = UpstreamServer(description="Nothing", command="no-such-command")
    with connected_to(one=server) as upstreams:
        for _ in range(2):
            with pytest.raises(ProgramUnavailable, match=r"no-such-command.*no such command") as raised:
                call(upstreams, "echo")
            assert not raised.value.retryable


def test_a_server_has_the_folder_the_proxies_and_the_certificates_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    monkeypatch.setenv("no_proxy", "localhost")
    monkeypatch.setenv("NODE_EXTRA_CA_CERTS", "/etc/ca.pem")
    with connected_to(folder=str(tmp_path), one=faulty()) as upstreams:
        told = json.loads(call(upstreams, "environment", folder=True))
    assert told["PWD"] == str(tmp_path)
    assert told["HTTPS_PROXY"] == told["https_proxy"] == "http://127.0.0.1:3128"
    assert told["NO_PROXY"] == told["no_proxy"] == "localhost"
    assert told["NODE_EXTRA_CA_CERTS"] == "/etc/ca.pem"


def test_a_mute_server_is_waited_for_no_longer_than_asked() -> None:
    with connected_to(one=faulty("mute")) as upstreams:
        with pytest.raises(Timeout) as raised:
            call(upstreams, "echo", seconds=0.5)
        assert "may_have_happened" not in raised.value.details  # it was not even sent


def test_a_server_s_own_error_is_told() -> None:
    with connected_to(one=faulty()) as upstreams, pytest.raises(ToolExecutionError) as raised:
        upstreams.send("one", SHARED, read_resource("file:///x"), deadline=deadline_in())
    assert raised.value.details == {"service": "one", "http_status": -32601, "problem": "no method resources/read"}
