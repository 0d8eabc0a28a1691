"""Google Calendar."""

TITLE = "Google Calendar"
