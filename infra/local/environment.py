"""The environment variables by which core finds a stack's stores, set in this process for a while."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from mcpist.memory import forget_all

# The variables that core reads, and the resources of the stack whose names they hold.
TABLES = {
    "LEDGER_TABLE": "Ledger",
    "DIRECTORY_TABLE": "Directory",
    "GRANTS_TABLE": "Grants",
    "AUDIT_TABLE": "Audit",
}
# Those that only the commands about a whole organization need.
STORES = {"EVENTS_TABLE": "Events", "LOGINS_TABLE": "Logins", "SEALS_TABLE": "Seals", "FILES_BUCKET": "FilesBucket"}


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of this process, and restore them afterwards.

    The others stay untouched: moto reads one in its threads.
    """
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    forget_all()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        forget_all()
