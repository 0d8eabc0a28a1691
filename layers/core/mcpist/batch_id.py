"""The ids of batches; a question that must be answered before a batch starts already has the batch's id."""

import hashlib
import re
import secrets


def new_batch_id() -> str:
    """Return an id that no batch has."""
    return f"b_{secrets.token_hex(8)}"


def undo_id(batch: str) -> str:
    """Return the id of the batch that undoes a batch whose step failed: the same each time, so that there is one."""
    return f"b_{hashlib.sha256(batch.encode()).hexdigest()[:16]}"


def is_batch_id(text: str) -> bool:
    """Return whether a batch could have this id, which a caller sent and which becomes part of a key."""
    return re.fullmatch(r"b_[0-9a-f]{16}", text) is not None
