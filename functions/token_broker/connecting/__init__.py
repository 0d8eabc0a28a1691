"""Connecting: from a person's request to a stored grant."""
