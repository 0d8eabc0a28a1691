"""`mcpist doctor`: whether a deployment is as it must be, and what to do where it is not."""
