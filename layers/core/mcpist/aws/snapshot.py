"""What a sandbox does before SnapStart's snapshot: all the imports and reading that a request would otherwise wait for.

No client is made and no socket opened: credentials, connections and randomness must be new after each restore.
"""

from collections.abc import Iterable
from importlib import import_module

from snapshot_restore_py import register_before_snapshot

from mcpist.aws import clients

LAZY_MODULES = ("botocore.httpsession", "botocore.signers")


def prepare(*, services: Iterable[str], modules: Iterable[str] = ()) -> None:
    """Import these modules, and read botocore's descriptions of these services, before the snapshot is taken."""

    def import_all() -> None:
        for module in (*LAZY_MODULES, *modules):
            import_module(module)
        clients.session().get_component("data_loader").preload(services)

    register_before_snapshot(import_all)
