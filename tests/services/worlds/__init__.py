"""How each service differs from a collection of JSON objects."""

from tests.services.world import Rules
from tests.services.worlds.confluence import Confluence
from tests.services.worlds.github import GitHub
from tests.services.worlds.google_calendar import GoogleCalendar
from tests.services.worlds.jira import Jira
from tests.services.worlds.microsoft_todo import MicrosoftTodo
from tests.services.worlds.notion import Notion
from tests.services.worlds.slack import Slack
from tests.services.worlds.supabase import Supabase

RULES: dict[str, type[Rules]] = {
    "confluence": Confluence,
    "github": GitHub,
    "google_calendar": GoogleCalendar,
    "jira": Jira,
    "microsoft_todo": MicrosoftTodo,
    "notion": Notion,
    "slack": Slack,
    "supabase": Supabase,
}
