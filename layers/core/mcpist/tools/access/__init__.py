"""Access to tools: what a caller may see and use, and what a change of an organization does to it."""
