import subprocess
import sys

import pytest
from pydantic import SecretStr

from mcpist.errors import InvalidRequest
from mcpist_services.postgresql.oauth import CONSENT
from token_broker.providers.oauth import fetch_account

KEY = "postgresql://reader:s3cret@db.example.com/sales"


def test_a_pasted_address_names_its_account_and_nothing_is_requested() -> None:
    account = fetch_account(CONSENT.provider, SecretStr(KEY))
    assert (account.name, account.kind) == ("reader@db.example.com/sales", "bot")
    assert "s3cret" not in repr(account)


def test_no_driver_is_loaded_before_a_database_is_asked_something() -> None:
    probe = "import sys, mcpist_services.postgresql.tools; sys.exit('pg8000' in sys.modules)"
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_a_pasted_address_that_cannot_be_used_says_why_before_it_is_stored() -> None:
    with pytest.raises(InvalidRequest, match="the parameter options is not supported") as refused:
        fetch_account(CONSENT.provider, SecretStr(f"{KEY}?options=-c"))
    assert (refused.value.details["field"], "s3cret" in str(refused.value.details)) == ("key", False)
    assert not CONSENT.provider.accepts_key(SecretStr("https://db.example.com/sales"))
