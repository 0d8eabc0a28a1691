"""`mcpist smoke`: one use of a deployment, from the login's metadata to a batch and its traces in the account."""
