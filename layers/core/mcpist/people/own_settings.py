"""Settings that people change themselves, without an administrator: the language of what they read."""

from mcpist.audit import record as audit
from mcpist.aws.attributes import Item
from mcpist.caller import Caller
from mcpist.errors import Locale
from mcpist.people import directory, edits
from mcpist.people.change import Difference

ACTION = "profile.update"


def set_locale(caller: Caller, locale: Locale, request: str) -> None:
    """Store the language of a person's errors and pages at every door, with an audit row in the same transaction."""

    def row(difference: Difference) -> Item:
        return audit.administration_row(
            caller,
            "change",
            action=ACTION,
            request=request,
            target=difference.path,
            before=difference.before,
            after=difference.after,
        )

    if caller.locale != locale:
        directory.change(caller.organization, edits.change_user(caller.user, locale=locale), journal=row)
        directory.access_cache.drop(lambda subject, _: subject == caller.subject)
