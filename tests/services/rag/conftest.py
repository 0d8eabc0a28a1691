from collections.abc import Iterator
from itertools import count

import pytest
from moto import mock_aws

from mcpist.aws import clients
from mcpist.aws.clients import client
from mcpist.memory import forget_all, forget_entries
from mcpist.settings import settings
from mcpist_services.rag.document_store import DocumentStore
from tests.services.rag.bucket import Clock, store

NUMBERS = count()


@pytest.fixture(scope="module")
def operations() -> Iterator[list[str]]:
    """moto, and the operations that were sent to it."""
    forget_all()
    sent: list[str] = []
    with pytest.MonkeyPatch.context() as environment, mock_aws():
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        clients.session().register("request-created", lambda operation_name, **_: sent.append(operation_name))
        yield sent
    forget_all()


@pytest.fixture
def sent(operations: list[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The operations of this test, which has an empty bucket of its own and remembers nothing of others."""
    bucket = f"files-{next(NUMBERS)}"
    client("s3").create_bucket(Bucket=bucket)
    client("s3").put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    monkeypatch.setenv("FILES_BUCKET", bucket)
    settings.cache_clear()
    forget_entries()
    operations.clear()
    yield operations
    settings.cache_clear()
    forget_entries()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def documents(sent: list[str]) -> str:
    """Four documents of acme, which is returned; nothing counted yet."""
    store("guides/deploy.md", "---\ntitle: Deploying\ntags: [ops, 運用]\ndate: 2026-01-05\n---\nHow to deploy.")
    store("guides/review.md", "---\ntitle: レビュー手順\ntags: [ops]\ndate: 2026-03-01\n---\n設計書を読む。")
    store("design.md", "---\ntags: [運用]\ndate: 2026-01-05\n---\n# Design of deploying\n\n設計。")
    store("plain.md", "Nothing much.")
    sent.clear()
    return "acme"


@pytest.fixture
def shelf(documents: str, clock: Clock) -> DocumentStore:
    """The shelf of a sandbox that has not looked yet."""
    return DocumentStore(documents, clock)
