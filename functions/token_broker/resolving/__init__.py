"""Resolving: from a caller to an access token."""
