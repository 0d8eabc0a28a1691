"""The audit of sign-ins and sign-outs: a row for each browser, in the organization that it is signed in to."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from console.sign_in import sessions
from mcpist.audit import record as audit
from mcpist.caller import Subject
from mcpist.errors import MembershipRequired
from mcpist.people import directory
from mcpist.people.browsers import Browser
from mcpist.telemetry import invocation

SIGN_OUT, SIGN_OUT_EVERYWHERE = "console.sign_out", "console.sign_out_everywhere"


def record_sign_in(subject: Subject, browser: Browser) -> None:
    """Record that a person has signed in."""
    _record(subject, browser, "sign_in", audit.SIGN_IN)


def record_sign_out(subject: Subject, browsers: Iterable[Browser], action: str = SIGN_OUT) -> None:
    """Record that browsers of a person were signed out."""
    for browser in browsers:
        _record(subject, browser, "sign_out", action)


def _record(subject: Subject, browser: Browser, event: audit.Event, action: str) -> None:
    """Write the row of a browser, unless its organization has removed the person."""
    with audit.best_effort(), suppress(MembershipRequired):
        caller = replace(directory.identify(subject, organization=browser.organization), client=sessions.client())
        described = {"browser": browser.description}
        row = audit.administration_row(
            caller,
            event,
            action,
            request=invocation.request_id(),
            target=f"browsers.{browser.key}",
            before=described if event == "sign_out" else None,
            after=described if event == "sign_in" else None,
        )
        audit.write_row(row)
