"""The tools of Google Calendar, in the order in which they are listed."""

from mcpist_services.google_calendar.module import google_calendar

from mcpist_services.google_calendar.tools import calendars, events, prompts  # isort: skip

__all__ = ["calendars", "events", "google_calendar", "prompts"]
