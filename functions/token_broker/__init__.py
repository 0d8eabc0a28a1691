"""Token broker: the only door that can decrypt a stored token; it has no public route."""
