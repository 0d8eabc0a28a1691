"""Signing in: the login, the sessions of browsers, and invitations by link."""
