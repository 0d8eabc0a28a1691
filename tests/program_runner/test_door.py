"""The door of the runner: which process answers a message, and what a closed one leaves."""

import os
import subprocess
import sys
from typing import Any

import pytest
from aws_lambda_powertools.utilities.typing import LambdaContext

from program_runner import handler as door
from program_runner.confinement import processes
from program_runner.organizations import OrganizationEnded


class Context(LambdaContext):
    aws_request_id = "r-1"


def ask(monkeypatch: pytest.MonkeyPatch, event: Any, answer: Any) -> Any:
    """Send a message whose organization's process answers so."""

    def respond(organization: str, message: Any, request: str) -> Any:
        assert (organization, message, request) == ("acme", event, "r-1")
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(door.ORGANIZATIONS, "ask", respond)
    return door.handler(event, Context())


@pytest.mark.parametrize("operation", ["run", "ask"])
def test_the_process_of_the_organization_answers(monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    assert ask(monkeypatch, {"organization": "acme", "operation": operation}, {"result": 1}) == {"result": 1}


def test_a_process_that_was_ended_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ask(monkeypatch, {"organization": "acme", "operation": "run"}, OrganizationEnded())
    assert answer["error"]["type"] == "UpstreamUnavailable"


@pytest.mark.parametrize("event", [[], {}, {"organization": 7}])
def test_a_message_of_no_organization_is_refused_before_anything_runs(event: Any) -> None:
    assert "error" in door.handler(event, Context())


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_process_that_closes_ends_its_servers(monkeypatch: pytest.MonkeyPatch, *, namespaces: bool) -> None:
    ended: list[str] = []

    class Sessions:
        def end_all_but(self, organization: str | None) -> None:
            ended.append(f"all but {organization}")

        def close(self) -> None:
            ended.append("closed")

    class Servers:
        sessions = Sessions

    monkeypatch.setattr(door, "has_namespaces", lambda: namespaces)
    monkeypatch.setitem(sys.modules, "program_runner.sessions", Servers)  # type: ignore[arg-type]
    door._close()
    assert ended == (["closed"] if namespaces else ["all but None", "closed"])
    monkeypatch.delitem(sys.modules, "program_runner.sessions")
    door._close()


def test_children_are_found_where_the_kernel_lists_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_KERNEL_LISTS_CHILDREN", False)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert child.pid in processes.children("self")
        assert child.pid in processes.children(os.getpid())
        child.communicate(b"\n")
    assert processes._parent("0") == 0
