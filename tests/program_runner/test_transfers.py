"""The files that come into a run."""

import hashlib

import pytest

from mcpist.errors import IntegrityError
from mcpist.programs.messages import InputFile
from program_runner.programs.transfers import content_of

CONTENT = b"what the door means"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def test_an_input_is_its_content() -> None:
    meant = InputFile(name="a.txt", sha256=SHA256, size_bytes=len(CONTENT), content=CONTENT)
    assert content_of(meant) == CONTENT


@pytest.mark.parametrize("content", [b"what the door meanz", CONTENT + b"\n", b""])
def test_an_input_that_is_not_the_one_that_was_meant_is_refused(content: bytes) -> None:
    with pytest.raises(IntegrityError):
        content_of(InputFile(name="a.txt", sha256=SHA256, size_bytes=len(CONTENT), content=content))
