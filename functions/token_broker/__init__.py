"""The only room that can open a stored token; it has no public route."""
