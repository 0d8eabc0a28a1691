"""The page `/search`: one text looked for among pages, tools, people, batches, files and the audit.

With scripts Ctrl-K or Cmd-K opens it above any page. Each group is bounded, and shows no more than its own page.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from console.rendering import address
from console.visit import Visit, visible_entries
from mcpist.audit.record import SHARDS
from mcpist.audit.search import Filters, find
from mcpist.batch.ledger.ledger import list_recent
from mcpist.files import listing
from mcpist.http.request import HttpResponse
from mcpist.paging import search

MAX_SEARCH_CHARACTERS = 100
MAX_GROUP_RESULTS = 5
SEARCHED_BATCHES = 50
"""The newest, of which the ids and those of the steps are compared."""
SEARCHED_DAYS = timedelta(days=7)
"""Of the audit."""


type Result = tuple[str, str, str]
"""The title, a text about it and the path of something that was found."""


def show(visit: Visit) -> HttpResponse:
    """Show the pages and things that have the text of the query."""
    text = visit.request.query.get("q", "").strip()[:MAX_SEARCH_CHARACTERS]
    groups = [group for group in _groups(visit, text) if group[1]] if text else []
    return visit.page("search.html", text=text, groups=groups)


def _groups(visit: Visit, text: str) -> Iterator[tuple[str, list[Result]]]:
    entries = visible_entries(is_administrator=visit.is_administrator)
    pages = search(entries, text, lambda entry: (visit.texts(f"frame.{entry.name}"),))
    yield ("navigation", [(visit.texts(f"frame.{one.name}"), "", one.path) for one in pages])
    yield ("tools", list(_tools(visit, text)))
    yield ("batches", list(_batches(visit, text)))
    files, _ = listing.list_page(visit.caller, "", MAX_GROUP_RESULTS, text)
    yield ("files", [(one.content_type, one.sha256[:12], address("/files", sha256=one.sha256)) for one in files])
    if visit.is_administrator:
        yield from _people(visit, text)
        yield ("logs", list(_rows(visit, text)))


def _tools(visit: Visit, text: str) -> Iterator[Result]:
    for tool in visit.permissions.search(text, MAX_GROUP_RESULTS):
        name, summary = f"{tool.module}.{tool.name}", visit.permissions.translation(tool.module).text(tool.summary)
        yield (name, summary, address("/tools", tool=name))


def _people(visit: Visit, text: str) -> Iterator[tuple[str, list[Result]]]:
    _, organization = visit.administration.read()
    users = organization.search_users(text)[:MAX_GROUP_RESULTS]
    roles = organization.search_roles(text)[:MAX_GROUP_RESULTS]
    yield ("users", [(one.name or one.id, one.id, address("/users", id=one.id)) for one in users])
    yield ("roles", [(one.name, "", address("/roles", id=one.name)) for one in roles])


def _batches(visit: Visit, text: str) -> Iterator[Result]:
    recent, _ = list_recent(visit.caller.organization, visit.caller.user, limit=SEARCHED_BATCHES)
    for head in search(recent, text, lambda head: (head.batch, *head.ids))[:MAX_GROUP_RESULTS]:
        yield (head.batch, ", ".join(head.ids[:MAX_GROUP_RESULTS]), address("/batches", id=head.batch))


def _rows(visit: Visit, text: str) -> Iterator[Result]:
    """Yield the newest rows of the audit among those that one round of requests reads, and the search of all."""
    until, filters = datetime.now(UTC) + timedelta(minutes=1), Filters(text=text)
    organization, since = visit.caller.organization, until - SEARCHED_DAYS
    page = find(organization, since=since, until=until, filters=filters, limit=MAX_GROUP_RESULTS, max_requests=SHARDS)
    for row in page.rows:
        title = f"{row['tool'] or row['event']} {row['outcome']}"
        yield (title, f"{row['user']} {row['time'][:16].replace('T', ' ')}", address("/logs", id=row["id"]))
    yield (visit.texts("frame.all_logs"), text, address("/logs", text=text))
