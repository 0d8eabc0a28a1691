"""The table of sizes."""

import pytest

from scripts import sizes


def test_the_table_counts_files_functions_and_tools(capsys: pytest.CaptureFixture[str]) -> None:
    sizes.main()
    printed = capsys.readouterr().out
    counts = {line[:28].strip(): int(line[28:35]) for line in printed.splitlines()[1:] if not line.startswith(" ")}
    assert counts["files"] < counts["functions"]
    assert counts["tools with decorators"] == counts["tools without decorators"] > 100
