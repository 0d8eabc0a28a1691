"""A folder of the bucket: objects by name, each with its ETag."""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from mcpist.aws.clients import ConditionFailed, ResourceMissing, client, store_errors
from mcpist.settings import settings

MAX_CONCURRENT_REQUESTS = 8


class BucketFolder:
    """Objects under one prefix; nothing outside it can be read or written."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def etags(self) -> tuple[dict[str, str], int]:
        """Return the ETag of every object by name, and the number of requests: one for each thousand objects."""
        etags: dict[str, str] = {}
        start: dict[str, str] = {}
        requests = 0
        while True:
            page = self._request("list_objects_v2", Prefix=self.prefix, **start)
            requests += 1
            etags |= {item["Key"].removeprefix(self.prefix): item["ETag"] for item in page.get("Contents", ())}
            if not page["IsTruncated"]:
                return etags, requests
            start = {"ContinuationToken": page["NextContinuationToken"]}

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Return an object with its ETag, or None where there is none."""
        try:
            answer = self._request("get_object", Key=self.prefix + name)
        except ResourceMissing:
            return None
        with store_errors("documents"), answer["Body"] as body:
            return body.read(), answer["ETag"]

    def etag(self, name: str) -> str | None:
        """Return an object's ETag, or None where there is none."""
        try:
            return str(self._request("head_object", Key=self.prefix + name)["ETag"])
        except ResourceMissing:
            return None

    def put(self, name: str, content: bytes, **conditions: str) -> str:
        """Store an object and return its ETag."""
        return str(self._request("put_object", Key=self.prefix + name, Body=content, **conditions)["ETag"])

    def replace(self, name: str, content: bytes, etag: str) -> str | None:
        """Replace the object with this ETag, or create one if it is empty; None if somebody else was faster."""
        try:
            return self.put(name, content, **({"IfMatch": etag} if etag else {"IfNoneMatch": "*"}))
        except (ConditionFailed, ResourceMissing):
            return None

    def delete(self, name: str, etag: str) -> bool:
        """Remove the object with this ETag, if it still exists; False if another one replaced it."""
        try:
            self._request("delete_object", Key=self.prefix + name, IfMatch=etag)
        except ResourceMissing:
            return True
        except ConditionFailed:
            return False
        return True

    def _request(self, operation: str, **arguments: Any) -> Any:
        with store_errors("documents"):
            return getattr(client("s3"), operation)(Bucket=settings().files_bucket, **arguments)


def map_concurrently[T, R](work: Callable[[T], R], items: Iterable[T]) -> Generator[R]:
    """Yield the result of `work` for each item, in order, a few at a time; closing the generator cancels the rest."""
    with ThreadPoolExecutor(MAX_CONCURRENT_REQUESTS) as workers:
        yield from workers.map(work, items)
