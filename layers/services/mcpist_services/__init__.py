"""The services: one folder each, and one line each in this table. Importing it imports no tool."""

NAMES = (
    "confluence",
    "github",
    "google_calendar",
    "jira",
    "microsoft_todo",
    "notion",
    "rag",
    "supabase",
)
