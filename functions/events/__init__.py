"""Receives webhooks, polls where there are none, and passes each event on to everybody who asked for it."""
