"""The outputs of a program: the files of its folder that its declaration names, and nothing that a link leads to."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mcpist.errors import OutputRefused
from mcpist.programs.messages import MAX_FILES, OutputRule, file_name_problem

MAX_ENTRIES = 10_000


@dataclass(frozen=True)
class FoundOutput:
    """An output's name, content and type."""

    name: str
    content: bytes = field(repr=False)
    content_type: str


def collect(
    program: str, work: Path, rules: Sequence[OutputRule], inputs: set[str], max_bytes: int
) -> list[FoundOutput]:
    """Return the outputs, by their names; an input that the program has not renamed is none of them.

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


def _outputs(work: Path, rules: Sequence[OutputRule], inputs: set[str], max_bytes: int) -> Iterator[FoundOutput]:
    for name, folder in _entries(work):
        rule = next((rule for rule in rules if _matches(name, rule)), None)
        if rule is None or name in inputs:
            continue
        if problem := file_name_problem(name):
            raise _RefusedFile(f"{name!a}: {problem}")
        yield FoundOutput(name, _read(name, folder, max_bytes), rule.content_type)


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
