"""Notion's refusals need no rules of their own."""

from tests.core.refused import refused


def test_an_error_has_the_services_message_and_code() -> None:
    content = {"object": "error", "status": 404, "code": "object_not_found", "message": "No page.", "request_id": "1"}
    assert refused(404, content).error.details["problem"] == "No page. (object_not_found)"
