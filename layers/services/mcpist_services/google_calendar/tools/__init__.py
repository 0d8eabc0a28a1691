"""The tools of Google Calendar, in the order in which they are listed."""

from mcpist_services.google_calendar.module import google_calendar

from mcpist_services.google_calendar.tools import calendars, events, free_time, absences, prompts  # isort: skip

__all__ = ["absences", "calendars", "events", "free_time", "google_calendar", "prompts"]
