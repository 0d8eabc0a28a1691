"""Options of one call of a tool: timeout and retries."""

from random import SystemRandom
from typing import Annotated

from pydantic import ConfigDict, Field

from mcpist.caller import ACCOUNT_PATTERN, AnswerFormat
from mcpist.render.answer import DEFAULT_ANSWER_TOKENS, MAX_ANSWER_TOKENS, MIN_ANSWER_TOKENS
from mcpist.tools.declare.tolerance import TolerantModel

MAX_RETRIES = 3
MAX_RETRY_DELAY_SECONDS = 10
BACKOFF_FACTOR = 2.0
BACKOFF_JITTER = 0.5

CHANGE_PATTERN = r"^(?:(?:[^#/\x00-\x1f]{1,128}/)?c_[0-9a-f]{20,60})?$"
"""A change's id, for an administrator after the user whose it is."""
UNDO_TOOL = "changes", "undo"
"""The tool whose call runs as a batch of its own."""

MaxTokens = Annotated[int, Field(ge=MIN_ANSWER_TOKENS, le=MAX_ANSWER_TOKENS)]

# Sandboxes that come from one snapshot would share a seed.
_random = SystemRandom()


class RunOptions(TolerantModel):
    """Timeout and retries of the requests of one call, and the form of its answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    # Seconds for each request.
    timeout: Annotated[float, Field(ge=1, le=30)] = 30
    # How often a failed request is sent again.
    retry: Annotated[int, Field(ge=0, le=MAX_RETRIES)] = 0
    # Seconds before the first retry; each next one waits longer.
    retry_delay: Annotated[float, Field(ge=0, le=MAX_RETRY_DELAY_SECONDS)] = 1
    # Whether the answer is a file's reference and a preview, however small the result is.
    as_file: bool = False
    # Tokens of the answer that a model reads; a larger result is a file with a preview.
    max_tokens: MaxTokens = DEFAULT_ANSWER_TOKENS
    # The label of one of several accounts; empty: the default one.
    account: Annotated[str, Field(pattern=ACCOUNT_PATTERN)] = ""
    # Whether what undoes a write is kept; it is refused where nothing undoes it.
    undoable: bool = False
    # The id of the change that the call undoes, unless its target has changed since.
    undoes: Annotated[str, Field(pattern=CHANGE_PATTERN)] = ""
    # Whether it undoes the change all the same.
    anyway: bool = False
    # The form of the answer; without it that of the caller's client or role.
    format: AnswerFormat | None = None

    def backoff(self, retries: int) -> float:
        """Return the seconds before the next request: longer after each retry, and partly random."""
        return self.retry_delay * BACKOFF_FACTOR**retries * _random.uniform(1, 1 + BACKOFF_JITTER)


DEFAULT_OPTIONS = RunOptions()
