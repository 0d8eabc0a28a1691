"""The organization's policies: an editor that checks them, shows what they would have stopped, and saves them."""

from console.visit import Visit
from mcpist.caller import NO_POLICIES, Policies
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.people.change import ChangeOptions
from mcpist.running.policy_change import PolicyChange, change_policies
from mcpist_services.catalogue import CATALOGUE

POLICIES_PAGE = "/policies"
MAX_SHOWN_CALLS = 50


def show(visit: Visit, checked: PolicyChange | None = None) -> HttpResponse:
    """Show the policies in an editor, what the check of those in the form found, and some to start from."""
    from mcpist.policies.rules import MAX_POLICY_CHARACTERS
    from mcpist_services.policy_templates import templates

    version, organization = visit.administration.read()
    return visit.page(
        "organization/policies.html",
        policies=organization.policies or NO_POLICIES,
        version=version,
        checked=checked,
        max_calls=MAX_SHOWN_CALLS,
        max_characters=MAX_POLICY_CHARACTERS,
        templates=templates(visit.texts.language),
    )


def submit(visit: Visit) -> HttpResponse:
    """Check the policies of the form, save them, or remove all."""
    form = visit.request.form_value
    version = form("version")
    options = ChangeOptions(expected_version=int(version) if version.isdecimal() else None)
    match form("action"):
        case "check_policies":
            checked = change_policies(visit.administration, _policies(visit), CATALOGUE, ChangeOptions(dry_run=True))
            return show(visit, checked)
        case "save_policies":
            change_policies(visit.administration, _policies(visit), CATALOGUE, options)
            return visit.redirect(POLICIES_PAGE, done="policies_saved")
        case "remove_policies":
            change_policies(visit.administration, None, CATALOGUE, options)
            return visit.redirect(POLICIES_PAGE, done="policies_removed")
    raise InvalidRequest(field="action", problem="this action is unknown")


def _policies(visit: Visit) -> Policies:
    form = visit.request.form_value
    minutes = form("minutes").strip()
    if not minutes.isdecimal():
        raise InvalidRequest(field="minutes", problem="it is a number")
    labels, remembers = tuple(form("labels").split()), form("remembers") == "yes"
    return Policies(0, form("text"), labels, form("time_zone").strip(), int(minutes[:9]), remembers)
