"""The doors' client of `program_runner`: it stages a run's files, sends the message and reads the response."""

import hashlib
import time
from base64 import b64decode
from collections.abc import Mapping
from math import ceil
from secrets import token_hex
from typing import Any
from urllib.parse import quote

from mcpist.aws import functions
from mcpist.aws.clients import client, store_errors
from mcpist.errors import ExecutionsExhausted, McpistError, StoreUnavailable, Timeout, TransientError
from mcpist.files import storage
from mcpist.files.records import FileRecord
from mcpist.programs.messages import (
    MAX_FILE_BYTES,
    MAX_INLINE_BYTES,
    MAX_UPLOADS,
    InputFile,
    Limits,
    ProgramRequest,
    ProgramResult,
    ServerRequest,
    Upload,
)
from mcpist.settings import settings
from mcpist.spending import spending
from mcpist.telemetry.invocation import carried
from mcpist.telemetry.tracing import span

NAME = "program runner"
# What a run needs beside its program: a start of the function, the transfer of its files, the end of its processes.
OVERHEAD_SECONDS = 3.0
ASK_OVERHEAD_SECONDS = 0.5
MIN_SECONDS = 1
MIN_ASK_SECONDS = 0.1
PRESIGNED_SECONDS = 180
UPLOAD_TYPE = "application/octet-stream"

type Content = bytes | FileRecord


def run(
    request: ProgramRequest,
    files: Mapping[str, Content] | None = None,
    *,
    deadline: float,
    reads: bool = False,
) -> ProgramResult:
    """Run a program with these files in its folder, by their names; every output of the result has its content.

    `deadline` is on the monotonic clock. An exit code other than 0 is a result. Raises ProgramUnavailable,
    ProgramLimitReached, OutputRefused, AnswerTooLarge (of standard output), Timeout and UpstreamUnavailable; the last
    two with the detail `may_have_happened` unless it `reads`.
    """
    uploads = upload_forms(request.organization) if request.outputs else ()
    update = {
        **carried(),
        "inputs": _staged(request, files or {}),
        "uploads": tuple(upload for _, upload in uploads),
        "limits": _within(request.limits, deadline, request.program),
    }
    answer = _send(request.model_copy(update=update), _timeout(deadline), reads=reads)
    if isinstance(answer, TransientError) and not reads:
        answer.details["may_have_happened"] = True
    result = ProgramResult.model_validate(functions.result_of(answer))
    outputs = []
    for output in result.outputs:
        # A large output is not in the answer: the program left it under one of the keys, and the hash is checked.
        left = {} if output.upload is None else {"content": storage.load(uploads[output.upload][0], output.sha256)}
        outputs.append(output.model_copy(update=left))
    return result.model_copy(update={"outputs": tuple(outputs)})


def ask(request: ServerRequest, *, deadline: float) -> bytes:
    """Send one request to a stdio MCP server, and return its packed answer or raise its typed error."""
    remaining = max(MIN_ASK_SECONDS, deadline - time.monotonic())
    # The server has all the time that was asked for; only a runner that is silent is waited for a little longer.
    timeout = ceil(remaining + ASK_OVERHEAD_SECONDS)
    answer = _send(request.model_copy(update={**carried(), "seconds": remaining}), timeout, reads=request.reads)
    return b64decode(functions.result_of(answer)["packed"])


def new_key(organization: str) -> str:
    """Return a key that nobody knows yet, under which the bucket keeps a content for a day."""
    return f"incoming/{quote(organization, safe='').replace('.', '%2E')}/{token_hex(16)}"


def store_input(organization: str, content: bytes) -> str:
    """Store an input that is too large for a message, and return its key."""
    key = new_key(organization)
    storage.store(key, content, UPLOAD_TYPE)
    return key


def download_url(key: str) -> str:
    """Return a URL with which this object alone can be read."""
    with store_errors("files"):
        url: str = client("s3", signature="s3v4").generate_presigned_url(
            "get_object", {"Bucket": settings().files_bucket, "Key": key}, ExpiresIn=PRESIGNED_SECONDS
        )
    return url


def upload_forms(organization: str, max_bytes: int = MAX_FILE_BYTES) -> tuple[tuple[str, Upload], ...]:
    """Return the keys of large outputs, and the form with which each can be left once."""
    keys = [new_key(organization) for _ in range(MAX_UPLOADS)]
    return tuple((key, _upload(key, max_bytes)) for key in keys)


def _send(request: ProgramRequest | ServerRequest, timeout: int, *, reads: bool) -> dict[str, Any] | McpistError:
    """Return the runner's result or its own error; an error of the way to it says whether anything may have run."""
    spending.check(request.organization, "program_seconds")
    started = time.monotonic()
    try:
        with span("program_runner", operation=request.operation):
            message = request.model_dump(mode="json")
            return functions.exchange(settings().program_runner, NAME, message, seconds=timeout, attempts=1)
    except ExecutionsExhausted:
        raise
    except TransientError as error:
        seconds = time.monotonic() - started
        # Botocore's read timeout comes as a store that is down: only the time tells the two apart.
        is_late = isinstance(error, StoreUnavailable) and seconds >= timeout
        failed = Timeout(service=NAME, seconds=round(seconds, 1)) if is_late else error
        raise (failed if reads else failed.with_details(may_have_happened=True)) from None
    finally:
        spending.add(request.organization, "program_seconds", time.monotonic() - started)


def _timeout(deadline: float) -> int:
    """Return the whole seconds until a deadline: a client of AWS is kept for each timeout."""
    return max(MIN_SECONDS, int(deadline - time.monotonic()))


def _within(limits: Limits, deadline: float, program: str) -> Limits:
    """Return the limits with at most the time that is left; Timeout if there is none."""
    left = deadline - time.monotonic() - OVERHEAD_SECONDS
    if left <= 0:
        raise Timeout(service=program, seconds=0)
    return limits.model_copy(update={"seconds": min(limits.seconds, left)})


def _staged(request: ProgramRequest, files: Mapping[str, Content]) -> tuple[InputFile, ...]:
    """Return the inputs: stored files by presigned URLs, contents within the message while there is room."""
    staged, room = [], MAX_INLINE_BYTES - len(request.stdin)
    for name, content in files.items():
        if isinstance(content, FileRecord):
            url = download_url(content.key)
            staged.append(InputFile(name=name, sha256=content.sha256, size_bytes=content.size_bytes, url=url))
            continue
        inline = len(content) <= room
        room -= len(content) if inline else 0
        url = "" if inline else download_url(store_input(request.organization, content))
        digest = hashlib.sha256(content).hexdigest()
        kept = content if inline else None
        staged.append(InputFile(name=name, sha256=digest, size_bytes=len(content), content=kept, url=url))
    return tuple(staged)


def _upload(key: str, max_bytes: int) -> Upload:
    with store_errors("files"):
        form = client("s3", signature="s3v4").generate_presigned_post(
            settings().files_bucket,
            key,
            Fields={"Content-Type": UPLOAD_TYPE},
            Conditions=[{"Content-Type": UPLOAD_TYPE}, ["content-length-range", 0, max_bytes]],
            ExpiresIn=PRESIGNED_SECONDS,
        )
    return Upload(url=form["url"], fields=form["fields"])
