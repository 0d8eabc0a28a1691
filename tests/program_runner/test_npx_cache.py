"""Servers that npx starts have caches of their own, which an installation that broke off does not spoil."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from mcpist.aws.attributes import unpack
from mcpist.errors import McpistError
from mcpist.programs.messages import ServerDeclaration, ServerRequest
from program_runner.npx_cache import MAX_INSTALL_SECONDS, NpxCache, uses_npx
from program_runner.sessions import Sessions
from tests.upstreams.configured import SCRIPTED

# Installs as npx does: what is there already is believed to be whole. The first installation of a file breaks off.
NPX = f"""#!{sys.executable}
import os, sys
from pathlib import Path
script = Path(sys.argv[-1])
installed = Path(os.environ["npm_config_cache"]) / "_npx" / script.name
if installed.exists():
    if installed.read_text() != "whole":
        sys.exit("Cannot find module")
else:
    installed.parent.mkdir(parents=True, exist_ok=True)
    with script.with_suffix(".log").open("a") as log:
        log.write("installed ")
    installed.write_text("half")
    if script.with_suffix(".breaks").exists():
        script.with_suffix(".breaks").unlink()
        sys.exit("the network is down")
    installed.write_text("whole")
os.execv({sys.executable!r}, [{sys.executable!r}, {str(SCRIPTED)!r}, str(script)])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an npx, and two servers to install."""
    (tmp_path / "npx").write_text(NPX)
    (tmp_path / "npx").chmod(0o755)
    for name in ("notes", "files"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"tools": [{"name": f"find_{name}"}]}))
    return tmp_path


def listed(folder: Path, name: str = "notes", organization: str = "acme") -> list[str]:
    """List a server's tools in a sandbox of its own."""
    declaration = {"name": name, "command": str(folder / "npx"), "arguments": ["-y", str(folder / f"{name}.json")]}
    limits = {"timeout_seconds": 30, "result_bytes": 5_000_000, "concurrency": 1}
    fields: dict[str, Any] = {"organization": organization, "server": {**declaration, **limits}, "seconds": 30}
    sessions = Sessions(folder / "homes", namespaces=False)
    try:
        answer = unpack(sessions.ask(ServerRequest.model_validate({**fields, "method": "list"})))
    finally:
        sessions.close()
    return [tool["name"] for tool in answer["tools"]]


def test_an_installation_that_broke_off_is_made_anew_and_a_whole_one_is_kept(folder: Path) -> None:
    (folder / "notes.breaks").touch()
    with pytest.raises(McpistError, match="the network is down"):
        listed(folder)
    assert listed(folder) == ["find_notes"]
    assert listed(folder) == ["find_notes"]
    assert (folder / "notes.log").read_text().split() == ["installed"] * 2


def test_each_server_of_each_organization_has_a_cache_of_its_own(folder: Path) -> None:
    for name, organization in (("notes", "acme"), ("files", "acme"), ("notes", "globex")):
        assert listed(folder, name, organization) == [f"find_{name}"]
    caches = [link.resolve() for link in folder.glob("homes/*/.npx/*") if link.is_symlink()]
    assert len(set(caches)) == 3
    assert all(
        [file.name for file in (cache / "_npx").iterdir()] in (["notes.json"], ["files.json"]) for cache in caches
    )


def test_what_broke_off_long_ago_is_removed(tmp_path: Path) -> None:
    server = ServerDeclaration(name="a", command="npx", timeout_seconds=1, result_bytes=1_000, concurrency=1)
    broken = Path(NpxCache(tmp_path, server).prepare()["npm_config_cache"])
    now = Path(NpxCache(tmp_path, server).prepare()["npm_config_cache"])
    assert broken != now
    assert broken.is_dir()
    long_ago = time.time() - MAX_INSTALL_SECONDS - 1
    os.utime(broken, (long_ago, long_ago))
    cache = NpxCache(tmp_path, server)
    cache.prepare()
    assert (broken.exists(), now.is_dir()) == (False, True)
    cache.keep()
    assert NpxCache(tmp_path, server).prepare() == cache.prepare()


def test_only_a_server_of_npx_that_names_no_cache_has_one() -> None:
    limits: dict[str, Any] = {"timeout_seconds": 1, "result_bytes": 1_000, "concurrency": 1}
    commands = {"npx": True, "/usr/bin/npx": True, "uvx": False, "node": False}
    for command, uses in commands.items():
        assert uses_npx(ServerDeclaration(name="a", command=command, **limits)) is uses
    named = {"NPM_CONFIG_CACHE": "/var/cache/npm"}
    assert not uses_npx(ServerDeclaration(name="a", command="npx", environment=named, **limits))
