"""The audit: rows of who did what with which account, their search, and the seals that prove them complete."""
