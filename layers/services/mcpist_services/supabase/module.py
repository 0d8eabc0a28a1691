"""Supabase: projects, SQL, migrations, logs, advisors, keys, functions, branches, the rows of tables, documentation.

Reference: https://supabase.com/docs/reference/api/introduction
"""

import re
from typing import Annotated

from pydantic import Field

from mcpist.render.shows import shows
from mcpist.tools.declare.call import path_template
from mcpist.tools.declare.dialect import Refusals
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.paging import MAX_ITEMS
from mcpist.tools.declare.pasted import address_reader, from_url

project_path = path_template("/v1/projects/{ref}")
DOCUMENTATION = "https://supabase.com"

supabase = Module(
    "supabase",
    __doc__,
    api_version="v1",
    host="https://api.supabase.com",
    labels={"*": ("internal",)},
    origins=rf"https://[a-z]{{20}}\.supabase\.co|{re.escape(DOCUMENTATION)}",
    refusals=Refusals(message_fields=("msg", "details", "hint")),
    category="development",
    tags=("database", "postgres", "sql"),
)

# The columns of a user's tables are not known here: each row is shown as it is.
ROWS = shows("*")

_DASHBOARD = r"https://(?:app\.|www\.)?supabase\.(?:com|io)/(?:dashboard/)?"
ADDRESSES = address_reader(
    rf"{_DASHBOARD}project/(?P<project_ref__branch_id_or_ref>[a-z]{{20}})(?![a-z])",
    r"https://(?:db\.)?(?P<project_ref__branch_id_or_ref>[a-z]{20})\.supabase\.(?:co|in|red)(?![\w.])",
    rf"{_DASHBOARD}project/\w+/functions/(?P<function_slug>[\w-]+)",
    r"https://[a-z]{20}\.supabase\.co/functions/v1/(?P<function_slug>[\w-]+)",
    rf"{_DASHBOARD}org/(?P<organization>[\w-]+)",
)

ProjectRef = Annotated[
    str,
    Field(pattern=r"^[a-z]{20}$"),
    from_url(ADDRESSES, "project_ref__branch_id_or_ref"),
    "The ref that list_projects shows, or a branch's, e.g. abcdefghijklmnopqrst",
]
Name = Annotated[str, Field(min_length=1)]
Limit = Annotated[int, Field(ge=1, le=MAX_ITEMS)]
