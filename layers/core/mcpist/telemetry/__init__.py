"""Logs, metrics and traces of an invocation."""
