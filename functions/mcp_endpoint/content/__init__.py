"""Answers as the protocol's content."""
