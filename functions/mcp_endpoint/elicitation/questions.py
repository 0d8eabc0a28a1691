"""Questions to a person: what one was about, and how it is found by the state that its answer brings back.

They stand in the ledger, under `pk` ORGANIZATION#STATE; `confirmation` and `connecting` say what theirs hold.
"""

import hashlib
import json
from typing import Any, Literal

from mcpist.aws.attributes import Item
from mcpist.batch.execution.start import is_batch_id
from mcpist.batch.ledger import ledger
from mcpist.batch.ledger.items import table
from mcpist.caller import Caller

MAX_REPLY_SECONDS = 600


def digest_of(caller: Caller, *subject: Any) -> str:
    """What was asked about, whom and in which roles: an answer holds for nothing else."""
    whole = [caller.organization, caller.user, caller.role_names, *subject]
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def find(caller: Caller, kind: Literal["confirmation", "connection"], state: str) -> Item | None:
    """The question that a state stands for; None where there is none in the caller's organization."""
    return table().get(ledger.partition_key(caller.organization, state), kind) if is_batch_id(state) else None
