"""The tools of registered modules, as an administrator decides on them."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Literal

from mcpist.caller import Caller, RegisteredModule
from mcpist.registry import definitions
from mcpist_services.described.registered import read_index

type State = Literal["approved", "new", "changed", "refused"]


@dataclass(frozen=True, slots=True)
class ToolState:
    """A tool of a registered MCP server, as an administrator decides on it."""

    name: str
    description: str
    state: State
    """`approved`, `new` or `changed`, which wait for approval, or `refused`."""
    warnings: tuple[str, ...]
    """What a person should check before approving it."""
    fingerprint: str
    """The hash of everything in it that a model reads; an approval is for this alone."""
    text: str = field(default="", repr=False)
    """What this is the hash of."""


def tool_states(caller: Caller, module: RegisteredModule, definition: definitions.Definition) -> list[ToolState]:
    """Return the tools of a module: those of a server as it last listed them to the caller, with its approvals.

    Resources and prompts are among them while they wait for approval.
    """
    if "overlay" in definition:
        return [ToolState(tool.name, tool.line(), "approved", (), "") for tool in read_index(definition).tools]
    from mcpist_services.upstream import lists
    from mcpist_services.upstream.peers import owner
    from mcpist_services.upstream.registered import know_server
    from mcpist_services.upstream.trust import fingerprint, judge, pin_name, pinned_text, review_warnings

    key = server_key_of(caller, module)
    know_server(key, definition)
    lists.forget(key)
    named = definition["tools"].get("includeNames", ())
    known = lists.server_state(key, owner(caller, key))
    tools, materials = (known.cached.listing.tools, known.cached.listing.materials) if known.cached else ((), ())
    states = [(tool, judge(known.pins, tool, named=tool.name in named)) for tool in tools]
    seen = [(material, judge(known.pins, material, named=True)) for material in materials]
    return [
        ToolState(
            pin_name(item),
            item.description or "",
            state,
            tuple(review_warnings(item)),
            fingerprint(item),
            pinned_text(item),
        )
        for item, state in (*states, *(each for each in seen if each[1] != "approved"))
    ]


def approved_texts(caller: Caller, module: RegisteredModule, names: Collection[str]) -> dict[str, str]:
    """Return the texts of tools as they were approved last, where they were kept; read after `tool_states`."""
    from mcpist_services.upstream import lists

    key = server_key_of(caller, module)
    pins = {name: pin for name, pin in lists.server_state(key).pins.items() if name in names}
    return lists.approved_texts_of(key, pins)


def server_key_of(caller: Caller, module: RegisteredModule) -> str:
    """Return the name by which the lists of a registered server are kept."""
    from mcpist_services.upstream.registered import server_key

    return server_key(caller.organization, module.name, module.sha256)
