"""Preparation for SnapStart's snapshot: imports and reading of files that a request would otherwise wait for.

No client is made and no socket is opened: credentials, connections and randomness must be new after each restore.
"""

import random
from collections.abc import Iterable
from importlib import import_module

from snapshot_restore_py import register_after_restore, register_before_snapshot

from mcpist.aws import clients

LAZY_MODULES = ("botocore.httpsession", "botocore.signers")


def prepare(*, services: Iterable[str], modules: Iterable[str] = ()) -> None:
    """Import these modules, and read botocore's models of these services, before the snapshot is taken."""

    def import_all() -> None:
        for module in (*LAZY_MODULES, *modules):
            import_module(module)
        clients.session().get_component("data_loader").preload(services)

    register_before_snapshot(import_all)
    # Libraries draw from the global generator, whose state would be the same in all sandboxes of a snapshot.
    register_after_restore(random.seed)
