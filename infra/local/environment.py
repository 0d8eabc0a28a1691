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
def operating(aws: EmbeddedAws, **more: str) -> Iterator[None]:
    """Point core's settings and clients at the embedded AWS, with `more` variables, and restore them afterwards.

    Other variables stay untouched meanwhile: moto reads one in its threads.
    """
    wanted = aws.environment | {name: aws.resource(resource) for name, resource in TABLES.items()} | more
    before = {name: os.environ.get(name) for name in wanted}
    os.environ |= wanted
    forget_all()
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        forget_all()
