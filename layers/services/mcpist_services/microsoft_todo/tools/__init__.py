"""The tools of Microsoft To Do, in the order in which they are listed."""

from mcpist_services.microsoft_todo.module import microsoft_todo

from mcpist_services.microsoft_todo.tools import lists, tasks, prompts  # isort: skip

__all__ = ["lists", "microsoft_todo", "prompts", "tasks"]
