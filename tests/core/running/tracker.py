"""A tracker of items on loopback that keeps its state, and its tools, each of which says what undoes it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from mcpist.caller import Caller
from mcpist.render.shows import DONE, shows
from mcpist.running.gate import CONFIRMED, ToolUse, admit
from mcpist.running.options import RunOptions
from mcpist.tools.access.permissions import Permissions
from mcpist.tools.declare.call import Call, Calls, changes, given
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.undo import restores, undone_by
from mcpist.tools.search.catalogue import Catalogue, DefinedModules
from tests.core.loopback import Reply, Service, close_connections, json_response, listening

type Item = dict[str, Any]


class Tracker(Service):
    """The service: `before` and `after` see each request, and may end its connection."""

    def __init__(self) -> None:
        super().__init__()
        self.items: dict[str, Item] = {}
        self.written: list[str] = []
        self.before: Callable[[str, str], Reply | None] = lambda _method, _path: None
        self.after: Callable[[str, str], None] = lambda _method, _path: None
        module = tracker(self.url)
        source = DefinedModules(["tracker"], lambda _: module)
        self.catalogue = Catalogue("tests.core.sample", ("shop", "safe"), deployed=lambda: [source])

    def answer(self, page: BaseHTTPRequestHandler) -> None:
        request = self.received[-1]
        reply = self.before(request.method, request.path) or self._reply(request.method, request.path, request.body)
        self.after(request.method, request.path)
        page.send_response(reply.status)
        page.send_header("content-type", "application/json")
        page.send_header("content-length", str(len(reply.body)))
        page.end_headers()
        page.wfile.write(reply.body)

    def _reply(self, method: str, path: str, body: bytes) -> Reply:
        _, _, id_ = path.strip("/").partition("/")
        if method != "GET":
            self.written.append(f"{method} {path}")
        if method == "POST":
            id_ = str(len(self.written))
            self.items[id_] = {"id": id_, "title": "", "state": "open", "note": None, **json.loads(body)}
        if id_ not in self.items:
            return json_response({"message": "Not Found"}, 404)
        if method == "DELETE":
            del self.items[id_]
            return Reply(b"", 204)
        if method == "PATCH":
            self.items[id_] |= json.loads(body)
        return json_response(self.items[id_])

    def run(self, caller: Caller, tool: str, request: str = "r1", batch: str = "", **arguments: Any) -> Any:
        """Run a tool through the gate, as a step whose batch was agreed to."""
        options = RunOptions(**arguments.pop("options", {}))
        use = ToolUse("tracker", tool, arguments, request, batch, options=options)
        return admit(Permissions(caller, self.catalogue), use, CONFIRMED).run(20).json


def tracker(host: str) -> Module:
    """Return the module of the tracker at an address."""
    module = Module("tracker", "Items.", api_version="1", host=host, needs_account=False)
    item = shows("id", "title", "state", "note")

    @module.reads(item)
    def get_item(item_id: str) -> Call:
        """Read an item."""
        return Call("GET", f"/items/{item_id}")

    @module.writes(
        item,
        undo=undone_by("delete_item(item_id=answer.id)", read="get_item", creates=True, fields="title state"),
    )
    def create_item(title: str) -> Call:
        """Create an item."""
        return Call("POST", "/items", json={"title": title})

    @module.writes(item, undo=restores("get_item", title="title", state="state", note="note"))
    def update_item(item_id: str, title: str | None = None, state: str | None = None, note: str | None = None) -> Call:
        """Change an item."""
        return Call("PATCH", f"/items/{item_id}", json=changes(title=title, state=state, note=note))

    @module.destroys(DONE, undo=undone_by("create_item(title=before.title)", read="get_item"))
    def delete_item(item_id: str) -> Call:
        """Delete an item."""
        return Call("DELETE", f"/items/{item_id}")

    @module.writes(item, undo=restores("get_item", title="title"))
    def rename_by_suffix(item_id: str, suffix: str) -> Calls:
        """Add something to a title."""
        found = (yield Call("GET", f"/items/{item_id}")).json
        return (yield Call("PATCH", f"/items/{item_id}", json={"title": found["title"] + suffix})).json

    @module.writes(
        DONE,
        irreversible="a message that was sent",
        tells={"watchers": "before.watchers", "item": "arguments.item_id"},
        costs="a cent",
    )
    def send(item_id: str, text: str | None = None) -> Call:
        """Send a message about an item."""
        return Call("PATCH", f"/items/{item_id}", json=given(message=text))

    @module.writes(DONE, irreversible="a count of visits")
    def visit(item_id: str) -> Call:
        """Count a visit of an item, which the service does for a GET."""
        return Call("GET", f"/items/{item_id}/visit")

    @module.writes(DONE, irreversible="a count of visits")
    def visit_known(item_id: str) -> Calls:
        """Count a visit of an item that exists."""
        yield Call("GET", f"/items/{item_id}")
        return Call("GET", f"/items/{item_id}/visit")

    @module.asks(DONE, irreversible="money that was paid")
    def pay(item_id: str) -> Call:
        """Pay for an item."""
        return Call("PATCH", f"/items/{item_id}", json={"state": "paid"})

    return module


@contextmanager
def tracking() -> Iterator[Tracker]:
    """Run a tracker."""
    service = Tracker()
    with listening(service.server):
        try:
            yield service
        finally:
            close_connections()
