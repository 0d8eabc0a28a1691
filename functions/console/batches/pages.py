"""The page `/batches`: a list, a batch with `id`, or a question about one with `confirm`."""

from collections.abc import Callable, Mapping

from console.batches import changing, listing, watching
from console.visit import Visit
from mcpist.aws.http_request import HttpResponse
from mcpist.errors import InvalidRequest

_ACTIONS: Mapping[str, Callable[[Visit], HttpResponse]] = {
    "cancel": changing.cancel,
    "resume": changing.resume,
    "keep": changing.keep,
    "confirm": changing.confirm,
}


def show(visit: Visit) -> HttpResponse:
    """Show what the query names."""
    if visit.request.query.get("confirm"):
        return changing.ask(visit)
    return watching.show(visit) if visit.request.query.get("id") else listing.show(visit)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form."""
    action = _ACTIONS.get(visit.request.form_value("action"))
    if action is None:
        raise InvalidRequest(field="action", problem="this action is unknown")
    return action(visit)
