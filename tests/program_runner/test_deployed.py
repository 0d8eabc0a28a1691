"""Runs as a door asks for them, on the embedded AWS: the function has no credentials, large files go by the bucket."""

import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.local.deployment import operating
from infra.local.stack import EmbeddedAws, StackOptions
from mcpist.aws.attributes import unpack
from mcpist.errors import (
    IntegrityError,
    McpistError,
    OutputRefused,
    ProgramUnavailable,
    StoreUnavailable,
    Timeout,
    UpstreamUnavailable,
)
from mcpist.files import records, storage
from mcpist.memory import forget_all
from mcpist.programs import client
from mcpist.programs.messages import MAX_INLINE_BYTES, ProgramRequest, ProgramResult, ServerRequest
from program_runner.outputs import _client
from tests.program_runner.conftest import HOSTILE, write_script
from tests.traffic import traffic_of
from tests.upstreams.connected import faulty

ROOT = Path(__file__).parents[2]
COPY = """
import os, sys
for name in sorted(os.listdir(".")):
    for number in range(int(sys.argv[1])):
        open(f"{name}.{number}.out", "wb").write(open(name, "rb").read())
"""
BYTES = [{"glob": "*.out", "content_type": "application/octet-stream"}]


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("programs")
    sources = {"copy": COPY, "hostile": HOSTILE.read_text("utf-8")}
    return {name: write_script(folder / name, source) for name, source in sources.items()}


@pytest.fixture(scope="module")
def aws(programs: dict[str, Path]) -> Iterator[EmbeddedAws]:
    allowed = {"ALLOWED_PROGRAMS": ",".join(map(str, programs.values()))}
    parameters = {"OwnLogin": "off"}
    with (
        EmbeddedAws(
            StackOptions(root=ROOT, only={"ProgramRunnerFunction"}, parameters=parameters, environment=allowed)
        ) as aws,
        operating(aws),
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("PROGRAM_RUNNER", aws.resource("ProgramRunnerFunction.Alias"))
        forget_all()
        traffic_of(aws)  # each test finds what the ones before it have sent
        yield aws
    _client().close()
    _client.cache_clear()


def run(program: Path, *arguments: str, files: Any = None, seconds: float = 25, **fields: Any) -> ProgramResult:
    asked = {"organization": "acme", "program": str(program), "arguments": arguments, **fields}
    request = ProgramRequest.model_validate(asked)
    return client.run(request, files, deadline=time.monotonic() + seconds, reads=fields.pop("reads", False))


def refused(error: type[McpistError], *arguments: Any, **fields: Any) -> McpistError:
    with pytest.raises(error) as raised:
        run(*arguments, **fields)
    return raised.value


def of_bucket(aws: EmbeddedAws) -> list[str]:
    return [request.request_line.partition("?")[0] for request in traffic_of(aws).requests if request.service == "s3"]


@pytest.mark.usefixtures("aws")
def test_the_function_has_no_credential_and_its_programs_see_none(programs: dict[str, Path]) -> None:
    environment = json.loads(run(programs["hostile"], "environment").stdout)
    assert not [name for name in environment if name.startswith(("AWS_", "LAMBDA_", "_HANDLER"))]
    found = json.loads(run(programs["hostile"], "parents").stdout)
    assert not [said for said in found.values() if not isinstance(said, int)]


def test_small_files_stay_within_the_messages(aws: EmbeddedAws, programs: dict[str, Path]) -> None:
    traffic_of(aws).requests.clear()
    result = run(programs["copy"], "1", files={"a": b"small"}, outputs=BYTES)
    assert [(output.name, output.content) for output in result.outputs] == [("a.0.out", b"small")]
    assert [request.operation for request in traffic_of(aws).requests] == ["Invoke"]


def test_large_files_go_by_presigned_transfers_and_come_back_checked(
    aws: EmbeddedAws, programs: dict[str, Path]
) -> None:
    large, other = b"x" * (MAX_INLINE_BYTES + 1), b"y" * (MAX_INLINE_BYTES + 1)
    kept = records.record("acme", "uma", other, "application/octet-stream")
    traffic_of(aws).requests.clear()
    result = run(programs["copy"], "1", files={"a": large, "b": kept}, outputs=BYTES)
    assert {output.name: output.content for output in result.outputs} == {"a.0.out": large, "b.0.out": other}
    sent = of_bucket(aws)
    assert len([line for line in sent if line.startswith("PUT /") and "/incoming/acme/" in line]) == 3
    assert sum(line.endswith(kept.key) for line in sent) == 1
    assert {request.function for request in traffic_of(aws).requests} == {None}, "the function signs nothing itself"


@pytest.mark.usefixtures("aws")
def test_more_large_outputs_than_uploads_are_refused(programs: dict[str, Path]) -> None:
    large = b"x" * (MAX_INLINE_BYTES + 1)
    assert "too many" in str(refused(OutputRefused, programs["copy"], "9", files={"a": large}, outputs=BYTES))


@pytest.mark.usefixtures("aws")
def test_a_stored_file_that_was_changed_is_not_given_to_a_program(programs: dict[str, Path]) -> None:
    kept = records.record("acme", "uma", b"as it was", "text/plain")
    storage.store(kept.key, b"as it is!", "text/plain")
    refused(IntegrityError, programs["copy"], "1", files={"a": kept})


@pytest.mark.usefixtures("aws")
def test_errors_of_the_runner_are_the_doors(programs: dict[str, Path]) -> None:
    refused(ProgramUnavailable, Path("/bin/sh"))
    error = refused(Timeout, programs["hostile"], "hang", limits={"seconds": 0.3})
    assert error.details["may_have_happened"]
    assert "may_have_happened" not in refused(Timeout, programs["hostile"], "hang", seconds=1).details
    error = refused(Timeout, programs["hostile"], "hang", limits={"seconds": 0.3}, reads=True)
    assert "may_have_happened" not in error.details


def test_a_function_that_cannot_be_asked_is_unavailable(
    aws: EmbeddedAws, programs: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROGRAM_RUNNER", aws.resource("ProgramRunnerFunction.Alias").replace(":live", ":none"))
    forget_all()
    assert refused(UpstreamUnavailable, programs["copy"]).details["may_have_happened"]
    monkeypatch.undo()
    forget_all()


@pytest.mark.usefixtures("aws")
def test_a_server_is_asked_in_the_function_and_its_errors_are_the_doors() -> None:
    server = faulty()
    declaration = {"name": "one", "command": server.command, "arguments": server.args, "concurrency": 1}
    limits = {"timeout_seconds": 30, "result_bytes": 5_000_000}
    asked = ServerRequest.model_validate(
        {"organization": "acme", "server": {**declaration, **limits}, "method": "call", "name": "echo", "seconds": 1}
    )
    first, second = (unpack(client.ask(asked, deadline=time.monotonic() + 20)) for _ in range(2))
    assert first == second, "the session lives on"
    hanging = asked.model_copy(update={"name": "hang"})
    with pytest.raises(Timeout) as raised:
        client.ask(hanging, deadline=time.monotonic() + 1.5)
    assert raised.value.details["may_have_happened"]


def test_an_upload_is_bound_to_its_key_its_size_and_its_type(aws: EmbeddedAws) -> None:
    ((key, upload),) = client.upload_forms("acme", max_bytes=10)[:1]
    content_type = "application/octet-stream"

    def post(content: bytes, **changed: str) -> int:
        boundary, fields = "b", {**upload.fields, **changed}
        parts = [f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{fields[name]}\r\n' for name in fields]
        form = "".join(parts).encode() + b'--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\n'
        headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
        deadline = time.monotonic() + 10
        sent = form + content + b"\r\n--b--\r\n"
        return _client().exchange("POST", upload.url, deadline=deadline, content=sent, headers=headers).status

    assert upload.fields["Content-Type"] == content_type
    assert post(b"eleven bytes") == 403
    assert post(b"other type", **{"Content-Type": "text/html"}) == 403
    assert post(b"other key", key=f"files/acme/uma/{'0' * 64}") == 403
    assert post(b"more", acl="public-read") == 403
    assert post(b"ten bytes!") == 200
    assert storage.load(key, hashlib.sha256(b"ten bytes!").hexdigest()) == b"ten bytes!"
    assert key.startswith("incoming/acme/")
    assert traffic_of(aws).requests


def test_a_download_is_bound_to_its_key_and_its_minutes(aws: EmbeddedAws) -> None:
    url = client.download_url("incoming/acme/a b")
    assert f"X-Amz-Expires={client.PRESIGNED_SECONDS}&" in url
    assert client.PRESIGNED_SECONDS <= 300
    assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in url
    assert "/incoming/acme/a%20b?" in url
    assert aws.api_url in url


@pytest.mark.usefixtures("aws")
def test_an_output_that_is_not_what_the_runner_said_is_refused() -> None:
    key = client.store_input("acme", b"another")
    with pytest.raises(IntegrityError):
        storage.load(key, "0" * 64)


def test_a_bucket_that_is_down_is_said(programs: dict[str, Path], aws: EmbeddedAws) -> None:
    large = b"x" * (MAX_INLINE_BYTES + 1)

    def down(request: Any, phase: str) -> None:
        if request.service == "s3" and request.request_line.startswith("GET") and phase == "before":
            from tests.traffic import InjectedResponse

            raise InjectedResponse(503, b"<Error><Code>SlowDown</Code></Error>")

    traffic_of(aws).on_request = down
    refused(StoreUnavailable, programs["copy"], "1", files={"a": large})
    traffic_of(aws).on_request = None
