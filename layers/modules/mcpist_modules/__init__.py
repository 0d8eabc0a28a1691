"""The services' tools: one module a name, imported when it is first used."""

from mcpist.tools.catalogue import Catalogue

NAMES = ("confluence", "github", "google_calendar", "jira", "microsoft_todo", "notion", "rag", "supabase")
CATALOGUE = Catalogue(__name__, NAMES)
