"""Refusals of Jira and Confluence, each as the error that it becomes."""

from typing import Any

import pytest

from mcpist.errors import ToolExecutionError, UnnamedScopeMissing
from mcpist.tools.declare.dialect import Refusals
from mcpist_services.confluence.module import confluence
from mcpist_services.jira.module import jira
from tests.core.refused import refused
from tests.faults import for_each


@pytest.mark.parametrize("refusals", [confluence.refusals, jira.refusals])
def test_a_missing_scope_has_no_name(refusals: Refusals) -> None:
    error = refused(401, {"code": 401, "message": "Unauthorized; scope does not match"}, refusals).error
    assert type(error) is UnnamedScopeMissing
    assert error.details["problem"] == "Unauthorized; scope does not match"


@for_each(
    ("refusals", "content", "message"),
    [
        (
            jira.refusals,
            {"errorMessages": ["No project."], "errors": {"summary": "必須です", "labels": ["a", "b"]}},
            "No project.; summary: 必須です; labels: a; labels: b",
        ),
        (jira.refusals, {"errorMessages": [], "errors": {"summary": "必須です"}}, "summary: 必須です"),
        (
            confluence.refusals,
            {"errors": [{"status": 404, "code": "NOT_FOUND", "title": "Not Found", "detail": "Page 7."}]},
            "Not Found; Page 7. (NOT_FOUND)",
        ),
        (
            confluence.refusals,
            {"errors": [{"status": 400, "code": "INVALID", "title": "Bad id", "detail": None}]},
            "Bad id (INVALID)",
        ),
    ],
)
def test_an_error_has_the_services_message(refusals: Refusals, content: Any, message: str) -> None:
    error = refused(400, content, refusals).error
    assert isinstance(error, ToolExecutionError)
    assert error.details["problem"] == message
