"""`mcpist ps`, and the stacks of this folder: the files that each `mcpist up` keeps in `.mcpist`, by name."""

import fcntl
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infra.cli.document import CommandError, CommandResult

DATA = Path(".mcpist")
DEFAULT = "default"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,30}")


@dataclass(frozen=True, slots=True)
class LocalStack:
    """The files of one stack."""

    name: str = DEFAULT

    @property
    def folder(self) -> Path:
        """The folder of all of them."""
        return DATA if self.name == DEFAULT else DATA / "stacks" / self.name

    @property
    def facts_file(self) -> Path:
        """The facts for the other commands, while it runs."""
        return self.folder / "up.json"

    @property
    def state_file(self) -> Path:
        """The contents of its stores and its login."""
        return self.folder / "state.sqlite"

    @property
    def logs(self) -> Path:
        """The folder of its functions' logs."""
        return self.folder / "logs"

    def facts(self) -> dict[str, Any] | None:
        """Return the facts; None if it is not known to run."""
        try:
            facts: dict[str, Any] = json.loads(self.facts_file.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return facts

    @property
    def runs(self) -> bool:
        """Whether an `up` holds it."""
        try:
            # The kernel drops a lock however its holder ends, so a file that a crash has left misleads nobody.
            with self._lock_file.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let no other `up` use the stack's files; the lock ends with this process, however it ends."""
        # The file stays when the lock ends: whoever removed it could remove the lock of the next `up`.
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock_file.open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                place = f" at {facts['mcp_url']}" if (facts := self.facts()) else ""
                message = f"The stack {self.name} of this folder already runs{place}."
                hint = "Stop it, or start another one with a name and a port: mcpist --stack NAME up --port PORT."
                raise CommandError("VALIDATION_ERROR", message, hint) from None
            yield

    @property
    def _lock_file(self) -> Path:
        return self.folder / "lock"


_chosen = LocalStack()


def choose_stack(name: str) -> None:
    """Let the commands of this process act on the stack of this name."""
    global _chosen  # noqa: PLW0603 - one command line chooses one stack
    if not _NAME.fullmatch(name):
        hint = "Up to 31 small letters, digits and hyphens."
        raise CommandError("VALIDATION_ERROR", f'"{name}" cannot be the name of a stack.', hint)
    _chosen = LocalStack(name)


def chosen_stack() -> LocalStack:
    """Return the stack of the command line."""
    return _chosen


def known_stacks() -> list[LocalStack]:
    """Return the stacks that this folder has files of, by their names."""
    names = {folder.name for folder in (DATA / "stacks").glob("*") if folder.is_dir()}
    default = LocalStack()
    if default.state_file.exists() or default.facts_file.exists():
        names.add(DEFAULT)
    return [LocalStack(name) for name in sorted(names)]


def last_up(instead: str) -> dict[str, Any]:
    """Return the facts of the `mcpist up` of this folder; without one, a CommandError says what to do `instead`."""
    facts = chosen_stack().facts()
    if facts is None:
        hint = f"Start one with `mcpist up`, or {instead}."
        raise CommandError("VALIDATION_ERROR", "No endpoint is known.", hint)
    return facts


def is_up() -> bool:
    """Whether an `mcpist up` of this folder runs."""
    return chosen_stack().facts_file.exists()


def list_stacks() -> CommandResult:
    """List what `mcpist up` runs from this folder, or keeps in it."""
    from infra.cli.table import render_table  # every command imports this file

    stacks = [_describe(stack) for stack in known_stacks()]
    head = ("stack", "state", "endpoint", "kept")
    rows = [
        (*(str(one[key]) for key in ("stack", "state", "mcp_url")), f"{one['kept_bytes'] / 1_000_000:.1f} MB")
        for one in stacks
    ]
    drawing = render_table(head, rows) if rows else "No stack runs or is kept here: start one with `mcpist up`."
    return CommandResult(metadata={"stacks": stacks}, drawing=drawing)


def _describe(stack: LocalStack) -> dict[str, Any]:
    facts = (stack.facts() or {}) if stack.runs else {}
    return {
        "stack": stack.name,
        "state": "running" if stack.runs else "stopped",
        "mcp_url": str(facts.get("mcp_url", "")),
        "pid": facts.get("pid"),
        "kept_bytes": sum(file.stat().st_size for file in stack.folder.glob(f"{stack.state_file.name}*")),
    }
