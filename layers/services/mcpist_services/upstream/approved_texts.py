"""The approved texts of upstreams' items, so that a person sees what a new text changes.

Items (`pk`, `sk`): PARTITION#texts, TOOL, with the compressed text of the last approval. They stand beside the
partition of the approvals, which every sandbox reads, and are read only for those who decide.
"""

import hashlib
import zlib
from collections.abc import Mapping

from mcpist.aws.table import Table
from mcpist_services.upstream.trust import Pin

MAX_TEXT_BYTES = 60_000
"""Of the compressed text; of a longer one only the fingerprint is kept."""
MAX_READ_TEXTS = 100


def store(table: Table, partition: str, pin: Pin) -> None:
    """Store the text of an approval, in place of the one before."""
    content = zlib.compress(pin.text.encode())
    if pin.text and len(content) <= MAX_TEXT_BYTES:
        table.update(_key(partition), pin.tool, "SET #content = :content", values={":content": content})


def read(table: Table, partition: str, pins: Mapping[str, Pin]) -> dict[str, str]:
    """Return the texts of approvals by their tools, of 100 at most; older approvals and long texts have none."""
    names = list(pins)[:MAX_READ_TEXTS]
    items = table.get_many([(_key(partition), name) for name in names])
    found = {item["sk"]: zlib.decompress(item["content"]) for item in items}
    return {
        name: content.decode()
        for name, content in found.items()
        if hashlib.sha256(content).hexdigest() == pins[name].fingerprint
    }


def _key(partition: str) -> str:
    return f"{partition}#texts"
