"""What a sandbox does before SnapStart's snapshot: all the imports that a request would otherwise wait for.

No client is made and no socket opened: credentials, connections and randomness must be new after each restore.
"""

from collections.abc import Iterable
from importlib import import_module

from snapshot_restore_py import register_before_snapshot

from mcpist import stores

LATE_MODULES = ("botocore.httpsession", "botocore.signers")


def prepare(*, services: Iterable[str], modules: Iterable[str] = ()) -> None:
    """Import these modules, and read botocore's models of these services, before the snapshot is taken."""

    def import_all() -> None:
        for module in (*LATE_MODULES, *modules):
            import_module(module)
        for service in services:
            stores.session().get_service_model(service)

    register_before_snapshot(import_all)
