"""`mcpist doctor`: checks of a deployment, and remedies for its problems."""
