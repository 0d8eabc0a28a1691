"""Policies of an organization: on arguments, on the way of data, and on the order of steps."""
