"""The command line: every command with its options, the pages that name them, and what a start imports."""

import json
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer

from infra.cli import main
from infra.cli.client_files import CLIENT_FILES
from infra.cli.document import CALLER, CommandDocument
from infra.cli.organizations import parse_organization
from infra.source import ROOT

PAGE = (ROOT / "docs/administration.md").read_text("utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def parsed(*arguments: str) -> Any:
    """The context of the command that a line names, with its parameters; nothing runs."""
    context = typer.main.get_command(main.app).make_context("mcpist", list(arguments), obj=CommandDocument())
    while hasattr(context.command, "resolve_command"):
        name, command, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = command.make_context(name, rest, parent=context)
    return context


def help_of(command: str) -> str:
    """The help of a command and of all its actions."""
    root = typer.main.get_command(main.app)
    context = root.make_context("mcpist", [command], obj=CommandDocument())
    _, found, _ = root.resolve_command(context, [command])  # type: ignore[attr-defined]
    actions = [(action, one) for action, one in getattr(found, "commands", {}).items()]
    return "".join(
        one.get_help(typer.Context(one, info_name=name, parent=context)) for name, one in [(command, found), *actions]
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_a_page_is_one(page: Any) -> None:
    for line in re.findall(r"^mcpist .*$", page.read_text("utf-8").replace("\\\n", " "), re.MULTILINE):
        _, *arguments = shlex.split(re.split(r" [|<>]+ ?", line)[0], comments=True)
        assert parsed(*arguments).command, line


def test_pages_name_the_command_as_make_shell_finds_it() -> None:
    for page in [*PAGES, *(ROOT / "examples").rglob("*.md"), ROOT / "infra/cli/up.py"]:
        assert not re.findall(r"\S*(?:bin/|uv run |python -m )mcpist.*", page.read_text("utf-8")), page.name
    assert "make shell" in (ROOT / "README.md").read_text("utf-8")


def test_every_option_of_the_page_is_one() -> None:
    texts = [help_of(command) for command in ("audit", "doctor", "login", "module", "org", "role", "tool", "user")]
    for option in re.findall(r"`(--[a-z-]+)", PAGE):
        assert any(option in text for text in texts), option


def test_the_pages_file_is_an_organization() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    organization, _ = parse_organization(text)
    assert organization.validated().administrators == ("ada",)


def test_lists_are_separated_by_commas_and_may_be_empty() -> None:
    given = parsed("role", "set", "writers", "--allow", " rag.*, jira.get_* ,", "--deny", "").params
    assert [given[name] for name in ("allow", "deny", "modules")] == [("rag.*", "jira.get_*"), (), None]
    assert given["destructive"] is None


@pytest.mark.parametrize("name", main.COMMANDS)
def test_every_command_explains_itself_and_its_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([name, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: mcpist {name} " in shown
    assert main.run(["--help"]) == 0
    assert f"  {name} " in capsys.readouterr().out


@pytest.mark.parametrize("line", ["", "user create", "role set", "org set --nope", "user set uma --system-role boss"])
def test_a_line_that_is_no_command_is_refused_with_its_usage(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(line.split()) == CALLER
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert "Usage: mcpist" in error["hint"]


def test_a_shell_completes_commands_actions_and_options() -> None:
    def completions(line: str) -> list[str]:
        environment = {"_MCPIST_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()))}
        command = [sys.executable, "-m", "infra.cli.main"]
        return subprocess.run(
            command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        ).stdout.split()

    assert {"call", "org", "user"} <= set(completions("mcpist "))
    actions = ["list", "create", "show", "set", "export", "import", "archive", "delete", "restore"]
    assert completions("mcpist org ") == actions


def test_help_imports_no_command() -> None:
    script = "import sys; from infra.cli.main import run; run(['--help']); print([*sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    for module in ("botocore", "mcp", "moto", "mcpist_services", "infra.cli.people"):
        assert f"'{module}'" not in done.stderr


def test_a_list_of_actions_has_whole_sentences() -> None:
    listed = help_of("org")
    assert not re.search(r"\w\.\.\.\n", listed)
    assert "with your rights in AWS." in " ".join(listed.split())
    assert "which of its tools wait for approval." in " ".join(help_of("module").split())


def test_the_help_of_add_lists_the_clients() -> None:
    text = " ".join(help_of("add").split())
    assert all(client in text for client in CLIENT_FILES)
