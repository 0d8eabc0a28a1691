"""Account names from providers are escaped on every page."""

from typing import Any

import pytest

from connect import pages
from connect.texts import TEXTS

EVIL = '"><b onclick=x>'
ACCOUNT = {"id": EVIL, "name": EVIL}


def offer(**grant: Any) -> dict[str, Any]:
    row = {
        "account_id": EVIL,
        "account_name": EVIL,
        "services": ["tracker"],
        "kind": "person",
        "open_to": [EVIL],
        "acts": True,
        "own": True,
        "usable": True,
        "role": "",
        "created_at": 0,
    }
    entry = {
        "service": "tracker",
        "provider": "tracker",
        "together": ["tracker"],
        "consent": True,
        "keys": True,
        "grants": [row | grant],
    }
    about = {"organization": "acme", "user": "uma", "roles": ["members"], "all_roles": ["members"], "role": ""}
    return {**about, "services": [entry]}


@pytest.mark.parametrize(
    "page",
    [
        pages.overview(TEXTS["en"], offer()),
        pages.service(TEXTS["en"], offer()),
        pages.service(TEXTS["en"], offer(account_name="")),
        pages.service(TEXTS["en"], offer(own=False, role=EVIL)),
        pages.question(
            TEXTS["en"],
            {"old": ACCOUNT, "new": ACCOUNT, "role": EVIL, "question": "0", "reasons": ["replaces", "personal"]},
            offer(),
        ),
        pages.leaving(TEXTS["en"], EVIL, f"https://login.example.com/{EVIL}"),
    ],
    ids=["overview", "service", "unnamed", "role", "question", "leaving"],
)
def test_an_accounts_name_is_escaped_on_every_page(page: str) -> None:
    assert EVIL not in page
    assert "onclick" in page
