"""Stored grants: a user's or a role's account at a provider."""
