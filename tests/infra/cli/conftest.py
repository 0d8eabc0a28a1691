"""The commands of administration, in this process, on the organization acme."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from infra.cli.account import TABLES
from infra.cli.endpoint import LAST_UP
from infra.cli.main import run
from infra.local.names import REGION
from mcpist.settings import settings

type Mcpist = Callable[..., dict[str, Any]]


@pytest.fixture
def mcpist(
    organization: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Mcpist:
    """Runs a command as beside an `up`: its metadata, or with `fails` its error."""
    monkeypatch.chdir(tmp_path)
    own = {variable: getattr(settings(), variable.lower()) for variable in TABLES}
    last = {"aws": {"AWS_DEFAULT_REGION": REGION}, "stack": own, "organization": organization}
    LAST_UP.parent.mkdir()
    LAST_UP.write_text(json.dumps(last))

    def command(*arguments: str, fails: bool = False) -> dict[str, Any]:
        code = run(list(arguments))
        (line,) = capsys.readouterr().out.splitlines()
        document: dict[str, Any] = json.loads(line)
        assert (code, document["success"]) == ((1, False) if fails else (0, True)), document
        return document["error" if fails else "metadata"]  # type: ignore[no-any-return]

    return command
