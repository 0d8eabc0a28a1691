"""The Dockerfile: what it installs and starts is the project's."""

import json
import re
import shlex
import tomllib
from fnmatch import fnmatch

from infra.cli.stacks import LocalStack
from infra.source import ROOT

TEXT = (ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
RUN = TEXT.partition("AS run\n")[2].partition("\nFROM ")[0]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_its_python_is_the_projects() -> None:
    version = (ROOT / ".python-version").read_text("utf-8").strip()
    assert set(re.findall(r"^FROM python:([\d.]+)", TEXT, re.MULTILINE)) == {version}


def test_it_is_found_by_docker_exec_runs_as_a_user_and_tells_its_health() -> None:
    installed = re.findall(r"UV_PROJECT_ENVIRONMENT=(\S+)", TEXT)
    assert re.findall(r"^ENV PATH=(\S+?)/bin:", RUN, re.MULTILINE) == installed
    assert re.findall(r"^ENTRYPOINT (.*)$", RUN, re.MULTILINE) == [json.dumps(list(PROJECT["project"]["scripts"]))]
    assert re.findall(r"^USER (\S+)", RUN, re.MULTILINE) == ["mcpist"]
    (health,) = re.findall(r"^HEALTHCHECK .*?CMD (.*)$", RUN, re.MULTILINE)
    _, _, script = json.loads(health)
    assert compile(script, "health", "exec")
    assert str(LocalStack().facts_file) in script


def test_it_copies_what_the_wheel_is_made_of_and_nothing_that_git_ignores() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").split()
    assert ignored[0] == "*"
    copied = {line[1:] for line in ignored if line.startswith("!")}
    wheel = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["only-include"], *wheel["force-include"], "pyproject.toml", "uv.lock", "README.md"}
    assert {name for name in needed if name.partition("/")[0] not in copied} == set()
    secret = (".mcpist", ".env", ".git", ".venv", "samconfig.toml")
    assert not [name for name in secret if any(fnmatch(name, one) for one in copied)]


def test_the_page_shows_the_commands_of_the_file() -> None:
    page = (ROOT / "docs/command-line.md").read_text("utf-8")
    commands = re.findall(r"^#   (docker .*)$", TEXT, re.MULTILINE)
    assert [shlex.split(line)[1] for line in commands] == ["build", "run", "exec"]
    assert all(line in page for line in commands)


def test_up_installs_no_more_of_the_embedded_aws_than_it_runs() -> None:
    # `moto[server]` brings 140 MB for services that nothing here uses: cfn-lint, and sympy with it.
    lock = tomllib.loads((ROOT / "uv.lock").read_text("utf-8"))
    packages = {package["name"]: package for package in lock["package"]}
    local = packages["mcpist"]["optional-dependencies"]["local"] + packages["mcpist"]["dependencies"]
    seen, waiting = set(), [(one["name"], tuple(one.get("extra", ()))) for one in local]
    while waiting:
        name, extras = waiting.pop()
        seen.add(name)
        package = packages[name]
        optional = package.get("optional-dependencies", {})
        more = [*package.get("dependencies", ()), *(one for extra in extras for one in optional.get(extra, ()))]
        waiting += [(one["name"], tuple(one.get("extra", ()))) for one in more if one["name"] not in seen]
    assert seen >= {"moto", "flask", "antlr4-python3-runtime"}
    assert not seen & {"cfn-lint", "sympy", "networkx", "openapi-spec-validator"}
