"""Supabase's refusals: those of its login (`msg`) and of PostgREST (`details`, `hint`).

https://docs.postgrest.org/en/stable/references/errors.html
"""

from mcpist.tools.declare.dialect import Refusals

REFUSALS = Refusals(message_fields=("msg", "details", "hint"))
