"""A batch as people watch it: its progress, and afterwards which step waited for which."""
