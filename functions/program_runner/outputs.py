"""The files that a run takes and leaves: inputs, declared outputs, and transfers by URLs that the door presigned."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from mcpist.bounded_http.client import ExchangeResponse, HttpClient
from mcpist.bounded_http.failures import ExchangeFailed
from mcpist.bounded_http.request import FormField, multipart_body
from mcpist.errors import IntegrityError, OutputRefused, StoreUnavailable
from mcpist.programs.messages import (
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_INLINE_BYTES,
    InputFile,
    Output,
    OutputRule,
    Upload,
    file_name_problem,
)

MAX_ENTRIES = 10_000
TRANSFER_SECONDS = 20.0
CONNECT_SECONDS = 2.0


def collect(program: str, work: Path, rules: Sequence[OutputRule], inputs: set[str], max_bytes: int) -> list[Output]:
    """Return the outputs with contents, by their names; an input that the program has not renamed is none of them.

    Raises OutputRefused, which names the file.
    """
    try:
        found = sorted(_outputs(work, rules, inputs, max_bytes), key=lambda output: output.name)
    except _RefusedFile as error:
        raise OutputRefused(service=program, program=program, problem=str(error)) from None
    if len(found) > MAX_FILES:
        problem = f"{len(found)} files; at most {MAX_FILES} are taken"
        raise OutputRefused(service=program, program=program, problem=problem)
    for rule in rules:
        if rule.required and not any(_matches(output.name, rule) for output in found):
            raise OutputRefused(service=program, program=program, problem=f"no file {rule.glob}")
    return found


class _RefusedFile(Exception):
    """A file that is not taken; the text is the reason."""


def _outputs(work: Path, rules: Sequence[OutputRule], inputs: set[str], max_bytes: int) -> Iterator[Output]:
    for name, folder in _entries(work):
        rule = next((rule for rule in rules if _matches(name, rule)), None)
        if rule is None or name in inputs:
            continue
        if problem := file_name_problem(name):
            raise _RefusedFile(f"{name!a}: {problem}")
        content = _read(name, folder, max_bytes)
        digest = hashlib.sha256(content).hexdigest()
        yield Output(name=name, sha256=digest, size_bytes=len(content), content_type=rule.content_type, content=content)


def _entries(work: Path) -> Iterator[tuple[str, int]]:
    """Yield the path of every file below a folder, and the descriptor of the folder that has it; links stay links."""
    entries = 0
    for folder, _, files, descriptor in os.fwalk(work, follow_symlinks=False):
        within = PurePosixPath(folder).relative_to(work)
        for file in files:
            entries += 1
            if entries > MAX_ENTRIES:
                raise _RefusedFile(f"more than {MAX_ENTRIES} files")
            yield str(within / file), descriptor


def _matches(name: str, rule: OutputRule) -> bool:
    return PurePosixPath(name).full_match(rule.glob)


def _read(name: str, folder: int, max_bytes: int) -> bytes:
    """Return a file's content; of a link, a pipe or a device there is none."""
    try:
        descriptor = os.open(PurePosixPath(name).name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except OSError:
        raise _RefusedFile(f"{name!a} is a link, or cannot be read") from None
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise _RefusedFile(f"{name!a} is no file")
        if found.st_size > max_bytes:
            raise _RefusedFile(f"{name!a} has {found.st_size} bytes; at most {max_bytes} are taken")
        return file.read(max_bytes)


def content_of(file: InputFile) -> bytes:
    """Return an input's content; IntegrityError if it is not the one that the door means."""
    content = file.content if file.content is not None else _exchange("GET", file.url).body
    if len(content) != file.size_bytes or hashlib.sha256(content).hexdigest() != file.sha256:
        raise IntegrityError(what=f"the input {file.name}")
    return content


def deliver(program: str, found: Sequence[Output], uploads: Sequence[Upload], room: int) -> tuple[Output, ...]:
    """Return the outputs, the small ones with their contents as long as there is room; leave the others by uploads."""
    delivered, left = [], room
    waiting = list(enumerate(uploads))
    for output in sorted(found, key=lambda output: output.size_bytes):
        if output.size_bytes <= left:
            left -= output.size_bytes
            delivered.append(output)
        else:
            uploaded = {"content": None, "upload": _upload(program, output, waiting)}
            delivered.append(output.model_copy(update=uploaded))
    return tuple(sorted(delivered, key=lambda output: output.name))


def _upload(program: str, output: Output, waiting: list[tuple[int, Upload]]) -> int:
    if not waiting:
        problem = f"its files have more than {MAX_INLINE_BYTES} bytes, and too many of them are large"
        raise OutputRefused(service=program, program=program, problem=problem)
    number, upload = waiting.pop(0)
    fields = [FormField(name, value.encode()) for name, value in upload.fields.items()]
    file = FormField("file", output.content or b"", filename="output")  # S3 wants it as the last field
    kind, content = multipart_body([*fields, file])
    _exchange("POST", upload.url, content=content, headers={"content-type": kind})
    return number


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
