"""Batches: from JSONL to a machine, and the ledger of what happened."""

# Of a whole batch.
DEFAULT_BATCH_TIMEOUT_SECONDS = 900
MIN_BATCH_TIMEOUT_SECONDS, MAX_BATCH_TIMEOUT_SECONDS = 10, 3_000
