"""Automations as tools: set up, shown, tried, paused and ended."""
