"""The runner's side of transfers: what it fetches, what it leaves, and what it does when the bucket does not answer."""

import hashlib
from collections.abc import Iterator

import pytest

from mcpist.errors import IntegrityError, OutputRefused, StoreUnavailable
from mcpist.programs.messages import InputFile, Output, Upload
from program_runner.outputs import _client, content_of, deliver
from tests.core.loopback import Reply, Service, listening

CONTENT = b"what the door means"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def found(name: str, content: bytes, content_type: str) -> Output:
    """Return a file that a run left, with its content."""
    digest = hashlib.sha256(content).hexdigest()
    return Output(name=name, sha256=digest, size_bytes=len(content), content_type=content_type, content=content)


LARGE = found("large.bin", b"x" * 1000, "application/octet-stream")
SMALL = found("small.md", b"# Small", "text/markdown")


@pytest.fixture
def bucket() -> Iterator[Service]:
    service = Service()
    with listening(service.server):
        yield service
    _client().close()
    _client.cache_clear()


def staged(bucket: Service, content: bytes = b"content") -> InputFile:
    digest = hashlib.sha256(content).hexdigest()
    return InputFile(name="a", sha256=digest, size_bytes=len(content), url=f"{bucket.url}/incoming/a?X-Amz-Signature=s")


def test_an_input_is_its_content() -> None:
    meant = InputFile(name="a.txt", sha256=SHA256, size_bytes=len(CONTENT), content=CONTENT)
    assert content_of(meant) == CONTENT


@pytest.mark.parametrize("content", [b"what the door meanz", CONTENT + b"\n", b""])
def test_an_input_that_is_not_the_one_that_was_meant_is_refused(content: bytes) -> None:
    with pytest.raises(IntegrityError):
        content_of(InputFile(name="a.txt", sha256=SHA256, size_bytes=len(CONTENT), content=content))


def test_a_file_behind_a_url_is_fetched_and_checked(bucket: Service) -> None:
    bucket.replies = [Reply(b"content")]
    assert content_of(staged(bucket)) == b"content"
    assert [(one.method, one.path) for one in bucket.received] == [("GET", "/incoming/a?X-Amz-Signature=s")]
    bucket.replies = [Reply(b"other!!")]
    with pytest.raises(IntegrityError):
        content_of(staged(bucket))


def test_a_large_output_is_left_by_the_form_of_the_door_and_small_ones_come_along(bucket: Service) -> None:
    bucket.replies = [Reply(b"", 204)]
    upload = Upload(url=f"{bucket.url}/bucket", fields={"key": "incoming/a", "policy": "p"})
    outputs = deliver("tool", [LARGE, SMALL], [upload], room=100)
    assert [(one.name, one.content, one.upload) for one in outputs] == [
        ("large.bin", None, 0),
        ("small.md", b"# Small", None),
    ]
    assert outputs[0].sha256 == hashlib.sha256(LARGE.content).hexdigest()
    (sent,) = bucket.received
    assert sent.method == "POST"
    assert b'name="key"\r\n\r\nincoming/a\r\n' in sent.body
    assert sent.body.index(b'name="policy"') < sent.body.index(b'name="file"')
    assert LARGE.content in sent.body


def test_without_an_upload_a_large_output_is_refused() -> None:
    with pytest.raises(OutputRefused):
        deliver("tool", [LARGE], [], room=100)


def test_a_bucket_that_refuses_or_is_gone_is_unavailable(bucket: Service) -> None:
    bucket.replies = [Reply(b"<Error/>", 403)]
    with pytest.raises(StoreUnavailable):
        content_of(staged(bucket))
    gone = staged(bucket).model_copy(update={"url": "http://127.0.0.1:9/a"})
    with pytest.raises(StoreUnavailable):
        content_of(gone)
