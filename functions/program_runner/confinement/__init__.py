"""The process around foreign code: namespaces, limits, a filter of system calls, and its whole end.

It runs as a Python process of its own, without site packages: so these files import the standard library alone.
"""
