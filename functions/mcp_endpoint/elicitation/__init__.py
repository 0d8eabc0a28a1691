"""Questions to the person behind a client: confirmations, and accounts to connect."""
