"""Reading the text files and the JSON that a command line names."""

import json
import sys
from pathlib import Path
from typing import Any

from infra.cli.document import CommandError


def text_of(file: str) -> str:
    """Read a text file; `-` is standard input."""
    try:
        return sys.stdin.read() if file == "-" else Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise CommandError("FILE_NOT_FOUND", f"{file}: {problem}", "Name a text file.") from None


def json_of(text: str) -> Any:
    """Parse the JSON of the option `--params`."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise CommandError("VALIDATION_ERROR", f"--params: {error}", "Write a JSON object.") from None
