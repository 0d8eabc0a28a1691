"""Declaring tools: modules, their tools, resources and prompts, and the requests that tools describe."""
