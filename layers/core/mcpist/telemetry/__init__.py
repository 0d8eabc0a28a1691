"""Logs, metrics, traces and audit rows of an invocation."""
