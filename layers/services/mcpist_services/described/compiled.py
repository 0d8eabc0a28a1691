"""Compiled: the deployment's imported APIs as the build leaves them, read without YAML and without any overlay.

The folder has an index of all tools, the accounts of all APIs, and one JSON file for each overlay.
"""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcpist.memory import cached
from mcpist.settings import settings

if TYPE_CHECKING:
    from mcpist.events.event_type import EventType
    from mcpist.oauth.provider import Consent
    from mcpist.tools.declare.module import Module
    from mcpist.tools.search.catalogue import ModuleSource
    from mcpist_services.described.account_rule import AccountRule

API_INDEX_FILE = "_index.json"
ACCOUNTS_FILE = "_accounts.json"
EVENTS_FILE = "_events.json"
# What can stand in a header, or be the password of a user: no form of a key is known.
KEY_PATTERN = re.compile(r"[ -~]{8,4096}")


class ImportedApis:
    """The imported APIs of a deployment: how their accounts are connected, and their modules."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the modules."""
        return tuple(self._accounts)

    @cached_property
    def source(self) -> "ModuleSource":
        """The modules; each overlay is read when a tool of it is first used."""
        from mcpist.tools.search.catalogue import DefinedModules  # the token broker needs no tools
        from mcpist.tools.search.index import Index

        return DefinedModules(
            self.names,
            lambda name: module_of(self._read(f"{name}.json")),
            lambda: Index.load((self._folder / API_INDEX_FILE).read_text("utf-8")),
        )

    def account(self, name: str) -> "AccountRule":
        """Return how a module's accounts are connected."""
        from mcpist_services.described.account_rule import AccountRule

        return AccountRule.model_validate(self._accounts[name])

    def event_types(self) -> "list[EventType]":
        """Return the event types of all APIs whose webhooks can be verified."""
        if not (self._folder / EVENTS_FILE).is_file():
            return []
        from mcpist_services.described.events import api_event_types

        return [one for name, rules in self._read(EVENTS_FILE).items() for one in api_event_types(name, rules)]

    @cached_property
    def _accounts(self) -> dict[str, Any]:
        return self._read(ACCOUNTS_FILE)

    def _read(self, file: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self._folder / file).read_text("utf-8"))
        return content


def module_of(overlay: Mapping[str, Any]) -> "Module":
    """Return the module of an overlay; InvalidRequest names the place of what is wrong in it."""
    from mcpist_services.described.module import module
    from mcpist_services.described.overlay import load_overlay

    return module(load_overlay(overlay))


@cached
def imported_apis() -> ImportedApis | None:
    """Return the imported APIs of this deployment; None where there are none: then nothing of them is read."""
    folder = Path(settings().apis)
    return ImportedApis(folder) if (folder / ACCOUNTS_FILE).is_file() else None


def consent_of(account: "AccountRule") -> "Consent | None":
    """Return how accounts of an imported API are connected; None where it needs none.

    People paste a key. Where the overlay names an OAuth server and an administrator registered our client there,
    they can consent instead.
    """
    from mcpist.oauth.provider import Consent, Provider  # the endpoint needs no provider

    security = account.security
    if security.kind == "none":
        return None
    oauth = security.oauth
    # One who can only paste a key meets no consent page.
    addresses: dict[str, Any] = {"authorize_url": "", "token_url": ""}
    provider = Provider(
        name=account.name,
        title=account.title,
        **(oauth.model_dump(exclude={"scopes"}) if oauth else addresses),
        account_url="",
        parse_account=lambda _: None,
        extra_scopes=oauth.scopes if oauth else (),
        key_pattern=KEY_PATTERN,
        key_page=security.key_page,
    )
    return Consent(provider, scopes=account.scopes if oauth else ())
