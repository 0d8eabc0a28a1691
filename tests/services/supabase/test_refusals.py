"""Supabase's refusals, each with its message."""

from typing import Any

from mcpist_services.supabase.module import supabase
from tests.core.refused import refused
from tests.faults import for_each


@for_each(
    ("content", "message"),
    [
        (
            {"code": "42703", "details": None, "hint": 'Perhaps "name".', "message": "column does not exist"},
            'column does not exist; Perhaps "name". (42703)',
        ),
        ({"code": 401, "msg": "Invalid JWT"}, "Invalid JWT"),
        ({"message": "Project not found"}, "Project not found"),
    ],
)
def test_an_error_has_the_services_message(content: Any, message: str) -> None:
    assert refused(400, content, supabase.refusals).error.details["problem"] == message
