"""What undoes the writes at GitHub."""

from tests.services.undoing import check_undo

HERE = {"owner": "octocat", "repo": "app"}
ISSUE = {**HERE, "issue_number": 5}
BEFORE = {
    "number": 5,
    "title": "Old",
    "body": None,
    "state": "open",
    "state_reason": None,
    "labels": [{"name": "bug"}],
    "assignees": [{"login": "ada"}],
    "milestone": None,
    "comments": 0,
}


def test_an_issue_gets_back_the_fields_that_an_update_changed_and_no_others() -> None:
    answer = BEFORE | {"state": "closed", "state_reason": "completed", "milestone": {"number": 3}}
    check_undo(
        "github.update_issue",
        {**ISSUE, "state": "closed", "state_reason": "completed", "milestone": 3},
        ("update_issue", {**ISSUE, "state": "open", "state_reason": "reopened", "milestone": "none"}),
        answer=answer,
        before=BEFORE,
        read=ISSUE,
        after=answer | {"title": "Renamed by another", "labels": []},
        changed=answer | {"milestone": {"number": 4}},
    )


def test_an_issue_that_was_opened_is_closed_as_not_planned_unless_somebody_has_gone_on_with_it() -> None:
    check_undo(
        "github.create_issue",
        {**HERE, "title": "Old"},
        ("update_issue", {**ISSUE, "state": "closed", "state_reason": "not_planned"}),
        answer=BEFORE,
        read=ISSUE,
        after=BEFORE,
        changed=BEFORE | {"comments": 1},
    )


def test_labels_that_were_added_are_taken_off_but_for_those_that_it_had() -> None:
    check_undo(
        "github.add_labels",
        {**ISSUE, "labels": ["bug", "ui", "p1"]},
        ("remove_label", {**ISSUE, "label": "ui"}),
        ("remove_label", {**ISSUE, "label": "p1"}),
        answer=[{"name": "bug"}, {"name": "p1"}, {"name": "ui"}],
        before=BEFORE,
        read=ISSUE,
        after=BEFORE | {"labels": [{"name": name} for name in ("bug", "more", "p1", "ui")]},
        changed=BEFORE,
    )


def test_a_label_that_was_taken_off_is_put_back() -> None:
    check_undo(
        "github.remove_label",
        {**ISSUE, "label": "bug"},
        ("add_labels", {**ISSUE, "labels": ["bug"]}),
        answer=[],
        before=BEFORE,
        read=ISSUE,
        after=BEFORE | {"labels": []},
        changed=BEFORE,
    )
