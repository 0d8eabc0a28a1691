"""Runs one step of a batch; the only target of generated machines."""
