"""Choices of tools become masks, and masks choices."""

from collections.abc import Collection
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from console.organization.roles import Choice, choices, choose
from mcpist.caller import Role
from mcpist.tools.search.index import ModuleEntry
from mcpist_services.catalogue import CATALOGUE

GITHUB = CATALOGUE.index.modules["github"]
ROLE = Role("members", modules=("rag",))
MASKS = st.lists(st.sampled_from(["github.*", "*.get_*", "github.create_*", "github.get_me", "rag.*"]), max_size=3)


def tick(role: Role, module: ModuleEntry, wanted: Collection[str]) -> Role:
    """Return the role that allows these tools of a module and no others."""
    return choose(role, module, {name: "allow" if name in wanted else "block" for name in module.tools})


def ticked(role: Role) -> set[str]:
    return {one.tool.name for one in choices(role, GITHUB) if one.choice != "block"}


def test_a_new_module_has_what_only_reads() -> None:
    role = Role("members", modules=("github",))
    assert ticked(role) == {tool.name for tool in GITHUB.tools.values() if not tool.needs_allow}


def test_a_tool_that_needs_no_mask_gets_none() -> None:
    reading = {tool.name for tool in GITHUB.tools.values() if not tool.needs_allow}
    assert tick(ROLE, GITHUB, reading) == Role("members", modules=("rag", "github"))
    one_more = tick(ROLE, GITHUB, reading - {"get_me"} | {"create_issue"})
    assert (one_more.allow, one_more.deny) == (("github.create_issue",), ("github.get_me",))


def test_masks_with_a_star_stay_and_masks_of_other_modules_too() -> None:
    role = Role("members", modules=("github",), allow=("github.create_*", "jira.create_issue"), deny=("*.delete_*",))
    changed = tick(role, GITHUB, ticked(role) - {"create_issue"})
    assert changed.allow == role.allow
    assert changed.deny == ("*.delete_*", "github.create_issue")


@given(st.sets(st.sampled_from(sorted(GITHUB.tools))), MASKS, MASKS)
def test_what_is_ticked_is_what_the_role_has_unless_a_wider_mask_denies_it(
    wanted: set[str], allow: list[str], deny: list[str]
) -> None:
    role = Role("members", modules=("github",), allow=tuple(allow), deny=tuple(deny))
    changed = tick(role, GITHUB, wanted)
    denied = {name for name in wanted if name not in ticked(changed)}
    assert ticked(changed) == wanted - denied
    bare = Role("members", modules=("github",), allow=("github.*",), deny=tuple(m for m in deny if "*" in m))
    assert denied == wanted - ticked(bare)
    assert tick(changed, GITHUB, ticked(changed)) == changed


def made(role: Role, **wanted: Choice) -> Role:
    """Return the role with other choices of these tools."""
    return choose(role, GITHUB, {one.tool.name: one.choice for one in choices(role, GITHUB)} | wanted)


def test_a_tool_that_destroys_waits_for_an_approval_where_the_role_asks() -> None:
    role = Role("members", modules=("github",), allow=("github.*",), destructive=True)
    asking = made(role, delete_file="ask")
    assert asking == replace(role, approval=("github.delete_file",))
    assert made(asking, delete_file="allow") == role
    assert made(asking, delete_file="block") == replace(role, deny=("github.delete_file",))
    assert made(replace(role, second_person=("github.delete_file",)), delete_file="ask").approval == (), "it asks more"
    wide = replace(role, approval=("*.delete_*",))
    assert made(wide, delete_file="allow") == wide, "masks with a star stay"
    assert made(role, get_me="ask") == role, "what destroys nothing waits for nobody"
