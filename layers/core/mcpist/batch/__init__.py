"""Batches: from JSONL to a machine, and the ledger of what happened."""
