"""The place of a step: which values that reach it hold no text."""

import pytest

from mcpist.policies.place import is_plain

SCHEMA = {"properties": {"amount": {"type": "number"}, "ids": {"type": "array", "items": {"type": "string"}}}}


@pytest.mark.parametrize(
    ("field", "column", "at_home", "abroad"),
    [
        ("event_id", "id_", True, False),
        ("ids.0", "id", True, False),
        ("attachments.0.fileId", "_id", True, False),
        ("recipients.1", "sender", True, False),
        ("to", "from", True, False),
        ("amount", "body", True, True),
        ("amount.0", "body", False, False),
        ("event_id", "body", False, False),
        ("body", "id", False, False),
        ("paid", "id", False, False),
        ("event_id", "paid", False, False),
        ("subject", "sender", False, False),
        ("to", "body", False, False),
        ("", "id", False, False),
    ],
)
def test_an_id_a_number_and_a_sender_hold_no_text(field: str, column: str, at_home: bool, abroad: bool) -> None:
    for expected, is_same_module in ((at_home, True), (abroad, False)):
        assert is_plain(SCHEMA, field, column, is_same_module=is_same_module) is expected
