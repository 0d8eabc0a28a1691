"""Saved batches: the organization's own tools, each made of a batch, and the tools that save them."""
