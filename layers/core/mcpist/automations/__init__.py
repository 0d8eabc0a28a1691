"""Automations: saved batches that run on an event or a schedule, as the people who set them up."""
