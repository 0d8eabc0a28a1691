"""The page `/batches`: a list, a batch with `id`, or a question about one with `confirm`."""

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass

from console.batches import changing, watching
from console.visit import Visit
from mcpist.batch.ledger.ledger import list_recent
from mcpist.batch.ledger.records import Header
from mcpist.errors import InvalidRequest
from mcpist.http.request import HttpResponse
from mcpist.people import questions

_ACTIONS: Mapping[str, Callable[[Visit], HttpResponse]] = {
    "cancel": changing.cancel,
    "resume": changing.resume,
    "keep": changing.keep,
    "confirm": changing.confirm,
}
PAGE_BATCHES = 20
EXAMPLE_BATCH = """mcpist batch --watch - <<'STEPS'
{"id":"list","module":"files","tool":"list","params":{"limit":5}}
{"id":"look","module":"files","tool":"stat","each":"${list.items}","params":{"path":"${each.path}"},"output":true}
STEPS"""
EVERYBODY = "everybody"


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch in the list."""

    head: Header
    outcomes: Mapping[str, int]
    """The number of steps that ended in each way."""

    @property
    def state(self) -> str:
        """The state of the batch."""
        return watching.state_of(self.head)

    @property
    def seconds(self) -> float | None:
        """The duration of the batch; None before its end."""
        return self.head.changed_at - self.head.started_at if self.head.done and self.head.changed_at else None


def show(visit: Visit) -> HttpResponse:
    """Show what the query names."""
    if visit.request.query.get("confirm"):
        return changing.ask(visit)
    return watching.show(visit) if visit.request.query.get("id") else _list(visit)


def submit(visit: Visit) -> HttpResponse:
    """Perform the action of a form."""
    action = _ACTIONS.get(visit.request.form_value("action"))
    if action is None:
        raise InvalidRequest(field="action", problem="this action is unknown")
    return action(visit)


def _list(visit: Visit) -> HttpResponse:
    """Show a page of the list; that of everybody only to administrators."""
    everybody = visit.request.query.get("of", "") == EVERYBODY
    with visit.administration.permitted("batches.list") if everybody else nullcontext():
        user = None if everybody else visit.caller.user
        page = list_recent(visit.caller.organization, user, visit.request.query.get("before", ""), PAGE_BATCHES)
    return visit.page(
        "batches/list.html",
        rows=[BatchRow(head, Counter(sorted(head.outcome.values()))) for head in page.batches],
        cursor=page.cursor,
        everybody=everybody,
        example=EXAMPLE_BATCH,
        questions={} if everybody else questions.find_waiting(visit.caller),
    )
