"""The bucket of one test, and what the module's tools answer from it."""

from collections.abc import Callable
from typing import Any

from mcpist.aws.clients import client
from mcpist.caller import Caller, Subject
from mcpist.settings import settings
from mcpist.tools.declare.call import PartialList
from mcpist_services.rag.document_store import FRESH_SECONDS_PER_REQUEST, DocumentStore
from mcpist_services.rag.index import DocumentIndex
from mcpist_services.rag.tools import rag

LIST, HEAD, GET, PUT, DELETE = "ListObjectsV2", "HeadObject", "GetObject", "PutObject", "DeleteObject"


class Clock:
    """A clock that stands still until it is told."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self) -> None:
        self.seconds += FRESH_SECONDS_PER_REQUEST


def store(path: str, text: str = "# A\n\ntext", organization: str = "acme") -> None:
    """Put a document into the bucket as the console does, past the shelf."""
    key = f"rag/{organization}/docs/{path}"
    client("s3").put_object(Bucket=settings().files_bucket, Key=key, Body=text.encode())


def stored(path: str) -> str:
    """The text of a document of acme in the bucket."""
    answer = client("s3").get_object(Bucket=settings().files_bucket, Key=f"rag/acme/docs/{path}")
    return answer["Body"].read().decode()


def delete(key: str) -> None:
    client("s3").delete_object(Bucket=settings().files_bucket, Key=f"rag/acme/{key}")


def stored_index() -> DocumentIndex:
    answer = client("s3").get_object(Bucket=settings().files_bucket, Key="rag/acme/index.sqlite")
    index = DocumentIndex.load(answer["Body"].read())
    assert index is not None
    return index


def paths(shelf: DocumentStore) -> list[str]:
    return [row["path"] for row in shelf.documents(limit=500)]


def before_the_next(operation: str, action: Callable[[], Any]) -> None:
    """Do something at the moment in which the next request of this kind would be sent."""
    events, waiting = client("s3").meta.events, [action]

    def hook(**_: Any) -> None:
        if waiting:
            waiting.pop()()

    events.register(f"before-call.s3.{operation}", hook)


def answer(tool: str, **arguments: Any) -> Any:
    """What a tool of the module answers for acme, as `run` asks it."""
    declared = rag.tools[tool]
    lookup: Any = declared.describe_work(declared.validate(arguments))
    assert rag.open_store is not None
    return lookup.function(
        rag.open_store(Caller("acme", "uma", Subject("issuer", "uma"), "user", ())), **lookup.arguments
    )


def rows(tool: str, **arguments: Any) -> Any:
    """The rows of a list, also of one that was cut."""
    brought = answer(tool, **arguments)
    return brought.json if isinstance(brought, PartialList) else brought
