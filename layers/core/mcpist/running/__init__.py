"""Running one tool for a caller: the account that acts, sending, what can go wrong, and the response cache."""
