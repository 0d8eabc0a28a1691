"""The transfers of a run's large files, by URLs that the door has presigned."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from functools import cache

from mcpist.bounded_http.client import ExchangeResponse, HttpClient
from mcpist.bounded_http.failures import ExchangeFailed
from mcpist.bounded_http.request import FormField, multipart_body
from mcpist.errors import IntegrityError, OutputRefused, StoreUnavailable
from mcpist.programs.messages import MAX_FILE_BYTES, MAX_INLINE_BYTES, InputFile, Output, Upload
from program_runner.programs.outputs import FoundOutput

TRANSFER_SECONDS = 20.0
CONNECT_SECONDS = 2.0


def content_of(file: InputFile) -> bytes:
    """Return an input's content; IntegrityError if it is not the one that the door means."""
    content = file.content if file.content is not None else _download(file.url)
    if len(content) != file.size_bytes or hashlib.sha256(content).hexdigest() != file.sha256:
        raise IntegrityError(what=f"the input {file.name}")
    return content


def deliver(program: str, found: Sequence[FoundOutput], uploads: Sequence[Upload], room: int) -> tuple[Output, ...]:
    """Return the outputs, the small ones with their contents as long as there is room; leave the others by uploads."""
    outputs, left = [], room
    waiting = list(enumerate(uploads))
    for output in sorted(found, key=lambda output: len(output.content)):
        inline = len(output.content) <= left
        left -= len(output.content) if inline else 0
        upload = None if inline else _upload(program, output, waiting)
        outputs.append(
            Output(
                name=output.name,
                sha256=hashlib.sha256(output.content).hexdigest(),
                size_bytes=len(output.content),
                content_type=output.content_type,
                content=output.content if inline else None,
                upload=upload,
            )
        )
    return tuple(sorted(outputs, key=lambda output: output.name))


def _upload(program: str, output: FoundOutput, waiting: list[tuple[int, Upload]]) -> int:
    if not waiting:
        problem = f"its files have more than {MAX_INLINE_BYTES} bytes, and too many of them are large"
        raise OutputRefused(service=program, program=program, problem=problem)
    number, upload = waiting.pop(0)
    fields = [FormField(name, value.encode()) for name, value in upload.fields.items()]
    file = FormField("file", output.content, filename="output")  # S3 wants it as the last field
    kind, content = multipart_body([*fields, file])
    _exchange("POST", upload.url, content=content, headers={"content-type": kind})
    return number


def _download(url: str) -> bytes:
    return _exchange("GET", url).body


def _exchange(
    method: str, url: str, content: bytes | None = None, headers: Mapping[str, str] | None = None
) -> ExchangeResponse:
    deadline = time.monotonic() + TRANSFER_SECONDS
    try:
        response = _client().exchange(method, url, deadline=deadline, content=content, headers=headers)
    except ExchangeFailed:
        raise StoreUnavailable(store="files") from None
    if not 200 <= response.status < 300:
        raise StoreUnavailable(store="files")
    return response


@cache
def _client() -> HttpClient:
    return HttpClient(max_bytes=MAX_FILE_BYTES, connect_seconds=CONNECT_SECONDS, embedded_aws=True)
