from typing import Any

import pytest

from mcpist_services.upstream.categories import (
    client_tool_name,
    counts,
    is_shell_like,
    resolve,
    resolve_all,
    select_tool,
)
from mcpist_services.upstream.configuration import Category, UpstreamConfiguration

SERENA = ["read_file", "list_dir", "write_memory", "delete_memory", "execute_shell_command"]


def category(server: str | list[str] = "serena", **tools: Any) -> Category:
    return Category.model_validate({"description": "A part.", "server": server, "tools": tools})


def enabled(chosen: Category, listed: dict[str, list[str]]) -> list[str]:
    return list(resolve("part", chosen, listed).enabled)


# -- which tools ----------------------------------------------------------------------------------------


def test_without_names_and_patterns_a_category_has_all_but_what_runs_commands() -> None:
    resolved = resolve("part", category(), {"serena": SERENA})
    assert list(resolved.tools) == SERENA
    assert list(resolved.enabled) == SERENA[:-1]
    assert not any(chosen.named for chosen in resolved.tools.values())


def test_names_patterns_and_exclusions_are_added_up() -> None:
    part = category(includeNames=["read_file"], includePatterns=["*_memory"], excludePatterns=["delete_*"])
    resolved = resolve("part", part, {"serena": SERENA})
    assert list(resolved.tools) == ["read_file", "write_memory"]
    assert [chosen.named for chosen in resolved.tools.values()] == [True, False]


def test_a_name_is_stronger_than_a_pattern_that_excludes() -> None:
    part = category(includePatterns=["*"], includeNames=["delete_memory"], excludePatterns=["*_memory"])
    assert enabled(part, {"serena": SERENA}) == ["read_file", "list_dir", "delete_memory"]


def test_exclusions_alone_leave_the_rest() -> None:
    assert enabled(category(excludePatterns=["*_memory", "execute_*"]), {"serena": SERENA}) == ["read_file", "list_dir"]


def test_patterns_tell_capitals_apart() -> None:
    assert enabled(category(includePatterns=["read*"]), {"serena": ["read_file", "READ_FILE"]}) == ["read_file"]


def test_an_override_switches_off_or_says_more() -> None:
    part = category(overrides={"read_file": {"description": "Reads."}, "list_dir": {"enabled": False}})
    resolved = resolve("part", part, {"serena": SERENA[:2]})
    assert resolved.tools["read_file"].description == "Reads."
    assert not resolved.tools["list_dir"].enabled
    assert list(resolved.enabled) == ["read_file"]


@pytest.mark.parametrize(
    ("tools", "runs"),
    [
        ({}, False),
        ({"includePatterns": ["execute_*"]}, False),
        ({"overrides": {"execute_shell_command": {"description": "Run."}}}, False),
        ({"includeNames": ["execute_shell_command"]}, True),
        ({"includeNames": ["mcp__serena__execute_shell_command"]}, True),
        ({"overrides": {"execute_shell_command": {"enabled": True}}}, True),
        (
            {"includeNames": ["execute_shell_command"], "overrides": {"execute_shell_command": {"enabled": False}}},
            False,
        ),
    ],
)
def test_what_runs_commands_is_on_only_by_its_name(tools: dict[str, Any], runs: bool) -> None:
    chosen = select_tool(category(**tools), "serena", "execute_shell_command")
    assert chosen
    assert chosen.enabled is runs


@pytest.mark.parametrize(
    "tool",
    [
        "execute_shell_command",
        "runTerminalCmd",
        "run_terminal_cmd",
        "bash",
        "start_process",
        "execute-command",
        "run_code",
    ],
)
def test_tools_that_run_what_they_are_given_are_known(tool: str) -> None:
    assert is_shell_like(tool)


@pytest.mark.parametrize(
    "tool", ["run_query", "list_commands", "publish", "start_timer", "get_process", "refresh", "push"]
)
def test_tools_that_only_sound_like_it_are_left_alone(tool: str) -> None:
    assert not is_shell_like(tool)


# -- names as clients show them -------------------------------------------------------------------------


def test_names_may_be_written_as_clients_show_them() -> None:
    part = category(
        includeNames=["mcp__serena__read_file"], overrides={"mcp__serena__read_file": {"description": "R."}}
    )
    resolved = resolve("part", part, {"serena": SERENA})
    assert list(resolved.enabled) == ["read_file"]
    assert resolved.enabled["read_file"].description == "R."
    assert not resolved.unresolved


def test_clients_show_fewer_letters_than_servers_have() -> None:
    assert client_tool_name("my.server", "notes/read") == "mcp__my_server__notes_read"
    part = category("my.server", includeNames=["mcp__my_server__notes_read"], excludePatterns=["mcp__my_server__x*"])
    assert enabled(part, {"my.server": ["notes/read", "x"]}) == ["notes/read"]


def test_a_name_of_another_server_leads_nowhere() -> None:
    resolved = resolve("part", category(includeNames=["mcp__time__now", "read_file"]), {"serena": SERENA})
    assert list(resolved.tools) == ["read_file"]
    assert resolved.unresolved == ("mcp__time__now",)


# -- several servers ------------------------------------------------------------------------------------


def test_of_two_servers_the_first_has_the_name_and_the_clash_is_told() -> None:
    part = category(["git", "disk"], includePatterns=["read*"])
    resolved = resolve("part", part, {"git": ["read", "read_log"], "disk": ["read", "read_file"]})
    assert {name: chosen.server for name, chosen in resolved.tools.items()} == {
        "read": "git",
        "read_log": "git",
        "read_file": "disk",
    }
    assert [(chosen.server, chosen.tool) for chosen in resolved.clashes] == [("disk", "read")]


def test_a_full_name_chooses_among_servers() -> None:
    resolved = resolve(
        "part", category(["git", "disk"], includeNames=["mcp__disk__read"]), {"git": ["read"], "disk": ["read"]}
    )
    assert resolved.tools["read"].server == "disk"
    assert not resolved.clashes


def test_while_a_server_is_silent_its_names_are_not_called_unknown() -> None:
    part = category(["git", "disk"], includeNames=["log", "read"])
    assert resolve("part", part, {"git": ["log"]}).unresolved == ()
    assert list(resolve("part", part, {"git": ["log"]}).tools) == ["log"]
    assert resolve("part", part, {"git": ["log"], "disk": []}).unresolved == ("read",)


# -- what the log says ----------------------------------------------------------------------------------


def test_the_log_counts_what_there_is_and_what_leads_nowhere() -> None:
    configured = UpstreamConfiguration.model_validate(
        {
            "mcpServers": {
                "serena": {"description": "Code.", "command": "serena"},
                "time": {"description": "T.", "command": "t"},
            },
            "categories": {
                "fs": {
                    "description": "Files.",
                    "server": "serena",
                    "tools": {"includeNames": ["read_file", "raed_file"]},
                },
                "rest": {
                    "description": "The rest.",
                    "server": "serena",
                    "tools": {"excludePatterns": ["read_file"], "overrides": {"nope": {"enabled": False}}},
                },
            },
        }
    )
    resolved = resolve_all(configured, {"serena": SERENA, "time": ["now"]})
    assert [one.name for one in resolved] == ["time", "fs", "rest"]
    assert counts(resolved) == {"categories": 3, "tools": 5, "disabled": 1, "unresolved": 2}
    assert [one.unresolved for one in resolved] == [(), ("raed_file",), ("nope",)]


def test_an_override_of_a_tool_of_another_category_is_no_unknown_name() -> None:
    part = category(includeNames=["read_file"], overrides={"execute_shell_command": {"enabled": False}})
    assert resolve("part", part, {"serena": SERENA}).unresolved == ()


def test_five_thousand_tools_are_sorted_quickly_enough_to_do_it_again() -> None:
    names = [f"tool_{number}" for number in range(5000)]
    part = category(includeNames=names[:100], includePatterns=["tool_4*"], excludePatterns=["*9"])
    resolved = resolve("part", part, {"serena": names})
    assert len(resolved.tools) == 100 + sum(name[5] == "4" and name[-1] != "9" for name in names[100:])
