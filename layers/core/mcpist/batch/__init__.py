"""Batches: from JSONL to a machine, and the ledger of what happened."""

TIMEOUT_SECONDS = 900  # of a whole batch, if its user wishes nothing else
LEAST_TIMEOUT_SECONDS, MOST_TIMEOUT_SECONDS = 10, 3_000
