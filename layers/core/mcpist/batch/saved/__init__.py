"""Saved batches: batches with typed parameters under names, which are tools of their organization."""
