"""Keeps the account tidy; only a schedule calls it."""
