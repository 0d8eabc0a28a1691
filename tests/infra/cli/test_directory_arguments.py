"""The grammar of `mcpist org`, `user`, `role` and `doctor`, and the page that teaches it."""

import re
import shlex

import pytest

from infra.cli.arguments import parser
from infra.cli.document import CommandError
from infra.cli.organization_yaml import parse_organization
from infra.local.deployment import ROOT

PAGE = (ROOT / "docs/administration.md").read_text("utf-8")


def test_every_command_of_the_page_is_one() -> None:
    lines = re.findall(r"^mcpist .*$", PAGE, re.MULTILINE)
    assert len(lines) > 10
    for line in lines:
        _, *arguments = shlex.split(line, comments=True)
        assert parser().parse_args(arguments).command in {"doctor", "org", "role", "user"}


def test_every_option_of_the_page_is_one() -> None:
    for option in re.findall(r"`(--[a-z-]+)", PAGE):
        assert any(option in help_of(command) for command in ("doctor", "org", "role", "user")), option


def help_of(command: str) -> str:
    """The help of a command and of all its actions."""
    whole = parser()
    (commands,) = (action for action in whole._actions if action.dest == "command")
    assert isinstance(commands.choices, dict)
    found = commands.choices[command]
    actions = (dict(action.choices or {}) for action in found._actions if action.dest == "action")
    return "".join(one.format_help() for one in (found, *(one for some in actions for one in some.values())))


def test_the_pages_file_is_an_organization() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    organization, _ = parse_organization(text)
    assert organization.validated().administrators == ("ada",)


def test_lists_are_separated_by_commas_and_may_be_empty() -> None:
    options = parser().parse_args(["role", "set", "writers", "--allow", " rag.*, jira.get_* ,", "--deny", ""])
    assert (options.allow, options.deny) == (("rag.*", "jira.get_*"), ())
    assert not hasattr(options, "modules")
    assert not hasattr(options, "destructive")


@pytest.mark.parametrize(
    "line", ["org", "user create", "role set", "org set --nope", "user set uma --system-role boss"]
)
def test_a_line_that_is_no_command_is_refused_with_its_usage(line: str) -> None:
    with pytest.raises(CommandError) as refused:
        parser().parse_args(line.split())
    assert "usage: mcpist" in refused.value.error["hint"]
