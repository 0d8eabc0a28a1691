"""Our connections with servers that nobody here wrote, over every transport and in both eras of the protocol."""

import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, nullcontext
from pathlib import Path

import mcp_types
import pytest

from mcpist.errors import ToolExecutionError
from mcpist_services.upstream.configuration import UpstreamServer
from mcpist_services.upstream.connections import SHARED, Identity, Upstreams
from mcpist_services.upstream.requests import call_tool, get_prompt, read_resource
from tests.upstreams import servers
from tests.upstreams.connected import InProcessRunner, call, connected_to, deadline_in, public_url

EVERYTHING: dict[str, Callable[[], AbstractContextManager[UpstreamServer]]] = {
    "stdio": lambda: nullcontext(servers.everything()),
    "http": servers.everything_http,
    "sse": lambda: servers.everything_http("sse"),
}


@pytest.fixture(autouse=True)
def embedded(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with public_url(monkeypatch, "http://127.0.0.1:1"):
        yield


@pytest.fixture(scope="module", params=EVERYTHING)
def everything_server(request: pytest.FixtureRequest) -> Iterator[UpstreamServer]:
    """The server, which all tests of a transport share: over HTTP it starts once."""
    with EVERYTHING[request.param]() as server:
        yield server


@pytest.fixture
def everything(everything_server: UpstreamServer) -> Iterator[Upstreams]:
    with connected_to(everything=everything_server) as upstreams:
        yield upstreams


def version(upstreams: Upstreams) -> str:
    """The version of the protocol that was agreed on with the only server."""
    assert isinstance(upstreams._ask, InProcessRunner)
    (link,) = (upstreams._links or upstreams._ask.sessions._links).values()
    assert link._connection is not None
    assert link._connection._client is not None
    return link._connection._client.protocol_version


def test_a_call_works_before_the_tools_were_listed(everything: Upstreams) -> None:
    assert call(everything, "echo", message="hi") == "Echo: hi"
    assert version(everything) == "2025-11-25"


def test_tools_resources_and_prompts_are_listed(everything: Upstreams) -> None:
    listing = everything.list_tools("everything", deadline=deadline_in())
    assert {"echo", "get-sum", "get-tiny-image"} <= {tool.name for tool in listing.tools}
    assert listing.resources
    assert listing.resource_templates
    assert {"simple-prompt", "args-prompt"} <= {prompt.name for prompt in listing.prompts}
    assert listing.ttl_seconds is None


def test_every_kind_of_content_comes_as_it_is(everything: Upstreams) -> None:
    def blocks(tool: str, **arguments: object) -> set[str]:
        return {
            block.type
            for block in everything.send(
                "everything", SHARED, call_tool(tool, arguments), deadline=deadline_in()
            ).content
        }

    assert blocks("get-tiny-image") == {"text", "image"}
    assert "resource_link" in blocks("get-resource-links", count=2)
    assert "resource" in blocks("get-resource-reference", resourceType="Text", resourceId=1)
    weather = everything.send(
        "everything", SHARED, call_tool("get-structured-content", {"location": "New York"}), deadline=deadline_in()
    )
    assert weather.structured_content is not None
    assert set(weather.structured_content) == {"temperature", "conditions", "humidity"}


def test_resources_are_read_and_prompts_filled_in(everything: Upstreams) -> None:
    (uri, *_) = [resource.uri for resource in everything.list_tools("everything", deadline=deadline_in()).resources]
    (content, *_) = everything.send("everything", SHARED, read_resource(str(uri)), deadline=deadline_in()).contents
    assert isinstance(content, mcp_types.TextResourceContents)
    assert content.text
    prompt = everything.send("everything", SHARED, get_prompt("args-prompt", {"city": "Kyoto"}), deadline=deadline_in())
    assert "Kyoto" in str(prompt.messages[0].content)
    with pytest.raises(ToolExecutionError):
        everything.send("everything", SHARED, get_prompt("no-such-prompt", {}), deadline=deadline_in())


@pytest.mark.parametrize("kind", ["streamableHttp", "sse"])
def test_a_server_that_is_started_anew_is_reached_anew(kind: str) -> None:
    with ExitStack() as first:
        server = first.enter_context(servers.everything_http(kind))
        port = int(server.url.rpartition(":")[2].partition("/")[0])
        with connected_to(everything=server) as upstreams:
            assert call(upstreams, "echo", message="first") == "Echo: first"
            first.close()
            with servers.everything_http(kind, port):
                assert call(upstreams, "echo", message="second") == "Echo: second"


def test_two_callers_act_with_their_own_tokens_at_once() -> None:
    with servers.modern_http() as server, connected_to(sums=server) as upstreams, ThreadPoolExecutor() as pool:
        identities = [Identity("acme", user, {"grant:sums": f"token-of-{user}"}) for user in ("ada", "uma")] * 10
        told = list(pool.map(lambda identity: call(upstreams, "who", identity=identity), identities))
        assert told == ["Bearer token-of-ada", "Bearer token-of-uma"] * 10
        listing = upstreams.list_tools("sums", identities[0], deadline=deadline_in())
        assert (listing.ttl_seconds, listing.scope) == (120, "private")


def test_the_modern_era_is_spoken_over_http() -> None:
    identity = Identity("acme", "uma", {"grant:sums": "token"})
    with servers.modern_http() as server, connected_to(sums=server) as upstreams:
        assert call(upstreams, "add", identity=identity, a=1, b=2) == "3"
        assert version(upstreams) == "2026-07-28"


def test_the_modern_era_is_spoken_over_stdio() -> None:
    with connected_to(time=servers.modern_clock()) as upstreams:
        assert "Asia/Tokyo" in call(upstreams, "get_current_time", timezone="Asia/Tokyo")
        assert version(upstreams) == "2026-07-28"


def test_files_are_written_and_read(tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    with connected_to(files=servers.filesystem(tmp_path)) as upstreams:
        call(upstreams, "write_file", path=str(file), content="remember")
        assert file.read_text() == "remember"
        assert call(upstreams, "read_text_file", path=str(file)) == "remember"
        outside = upstreams.send(
            "files", SHARED, call_tool("read_text_file", {"path": "/etc/hostname"}), deadline=deadline_in()
        )
        assert outside.is_error


def test_facts_are_kept_and_found(tmp_path: Path) -> None:
    ada = {"name": "Ada", "entityType": "person", "observations": ["likes engines"]}
    with connected_to(facts=servers.memory(tmp_path / "facts.jsonl")) as upstreams:
        call(upstreams, "create_entities", entities=[ada])
        assert "likes engines" in call(upstreams, "search_nodes", query="engines")


def test_the_time_is_converted() -> None:
    with connected_to(time=servers.clock()) as upstreams:
        told = call(upstreams, "convert_time", source_timezone="UTC", time="12:00", target_timezone="Asia/Tokyo")
        assert "21:00" in told
        assert version(upstreams) == "2025-11-25"


def test_a_repository_is_read(tmp_path: Path) -> None:
    server = servers.git(tmp_path)
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, *identity, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    with connected_to(git=server) as upstreams:
        assert "Begin" in call(upstreams, "git_log", repo_path=str(tmp_path))
