"""The tools of Supabase, in the order in which they are listed."""

from mcpist_services.supabase.module import supabase

from mcpist_services.supabase.tools import projects, database, logs, functions, branches, rows  # isort: skip
from mcpist_services.supabase.tools import documentation, prompts  # isort: skip

__all__ = ["branches", "database", "documentation", "functions", "logs", "projects", "prompts", "rows", "supabase"]
