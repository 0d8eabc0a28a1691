"""Letting core's functions in this process act on the embedded AWS."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from infra.local.stack import EmbeddedAws
from mcpist.memory import forget_all

TABLES = {
    "DIRECTORY_TABLE": "Directory",
    "LEDGER_TABLE": "Ledger",
    "AUDIT_TABLE": "Audit",
    "FILES_BUCKET": "FilesBucket",
}


@contextmanager
def operating(aws: EmbeddedAws) -> Iterator[None]:
    """Point core's settings and clients at the embedded AWS, and restore them afterwards."""
    before = dict(os.environ)
    os.environ |= aws.environment | {name: aws.resource(resource) for name, resource in TABLES.items()}
    forget_all()
    try:
        yield
    finally:
        os.environ.clear()
        os.environ |= before
        forget_all()
