"""Batches: from JSONL to a machine, and the ledger of what happened."""

DEFAULT_BATCH_TIMEOUT_SECONDS = 900  # of a whole batch, if its user wishes nothing else
MIN_BATCH_TIMEOUT_SECONDS, MAX_BATCH_TIMEOUT_SECONDS = 10, 3_000
