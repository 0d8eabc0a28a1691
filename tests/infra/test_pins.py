"""What the examples and the pages tell people to fetch and run has a version: it runs with the person's rights."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.source import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FETCHED = re.compile(r"(?:npx|uvx|uv tool run|npm install|uv pip install)((?: +[^\s`]+)+)")
OPTIONS_WITH_VALUES = {"--with", "--target", "--python-version", "--python-platform", "--prefix"}
PINNED = re.compile(r"@?[\w./-]+(@|==)[0-9][\w.]*")


def fetched(text: str) -> Iterator[str]:
    """Yield the packages that the commands of a page fetch: the first word of each that is no option."""
    for match in FETCHED.finditer(text.replace("\n", " \n")):
        words = iter(match[1].splitlines()[0].split())
        for word in words:
            if word in OPTIONS_WITH_VALUES:
                next(words)
            elif not word.startswith("-"):
                yield word.strip(",")
                break


TOOLS = {"uv": "uv", "sam": "aws-sam-cli", "checkov": "checkov", "bandit": "bandit"}
INSTALLING = re.compile(r"pip install|tool (?:run|install)|\buvx [a-z-]")


@pytest.mark.parametrize("tool", TOOLS)
def test_what_builds_and_deploys_is_locked_with_hashes(tool: str) -> None:
    text = (ROOT / f"infra/tools/{tool}.txt").read_text("utf-8")
    packages = re.split(r"\n(?=\S)", text.strip())
    assert [package.splitlines()[0] for package in packages if "--hash=sha256:" not in package] == []
    version = re.search(rf"^{tool.upper()}_VERSION := (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert version
    assert any(package.startswith(f"{TOOLS[tool]}=={version[1]} ") for package in packages)
    assert "://" not in text


def test_nothing_else_installs_what_builds_and_deploys() -> None:
    places = [ROOT / "Makefile", ROOT / ".ci/run", *(ROOT / "scripts").glob("*.py")]
    lines = [line for place in places for line in place.read_text("utf-8").splitlines() if INSTALLING.search(line)]
    unchecked = [line.strip() for line in lines if "--require-hashes" not in line]
    assert len(lines) == 4
    assert all("ministack" in line or "zensical" in line for line in unchecked), unchecked


def test_a_command_without_a_version_is_found() -> None:
    assert list(fetched("run `npx -y @a/server` or `uvx mcp-server==1.2`")) == ["@a/server", "mcp-server==1.2"]
    assert [bool(PINNED.fullmatch(name)) for name in ("@a/server", "@a/server@1.2", "mcp==1", "mcp")] == [0, 1, 1, 0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_name_versions(page: Path) -> None:
    assert [name for name in fetched(page.read_text("utf-8")) if not PINNED.fullmatch(name)] == []


def test_the_example_of_upstreams_names_versions() -> None:
    lines = (ROOT / "examples/upstreams.json").read_text("utf-8").splitlines()
    servers = json.loads("\n".join(line for line in lines if not line.startswith("//")))["mcpServers"]
    fetching = [one["args"][-1] for one in servers.values() if one["command"] in {"npx", "uvx"}]
    assert fetching
    assert all(PINNED.fullmatch(name) for name in fetching)
