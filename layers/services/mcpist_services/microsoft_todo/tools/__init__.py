"""The tools of Microsoft To Do, in the order in which they are listed."""

from mcpist_services.microsoft_todo.module import microsoft_todo

from mcpist_services.microsoft_todo.tools import lists, tasks, finding, prompts  # isort: skip

__all__ = ["finding", "lists", "microsoft_todo", "prompts", "tasks"]
