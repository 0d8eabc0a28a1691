"""A service that keeps what is written to it: its requests are checked, and its answers made, by its description.

Each path that ends in a parameter is an item, the path before it its collection. An item that nobody has created is
there as the description's example has it, until it is deleted. What a service does otherwise stands in `worlds/`.
"""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

import httpx2

from mcpist.errors import ToolExecutionError
from mcpist.tools.declare.call import Call, ServiceResponse
from tests.services.contracts import Vendor
from tests.services.descriptions.contract import Contract, DescribedCall

type Json = Any
type Answer = Callable[["World", DescribedCall], Json]

GONE = ({"state": "closed"}, {"archived": True}, {"in_trash": True}, {"is_archived": True})
GONE += ({"status": "trashed"}, {"status": "cancelled"}, {"status": "INACTIVE"})


class World(Vendor):
    """One service with a memory."""

    def __init__(self, name: str, rules: "Rules") -> None:
        super().__init__(name)
        self.rules = rules
        self.items: dict[str, Json] = {}
        self.deleted: set[str] = set()
        self.made: list[str] = []
        self._contracts: dict[str, Contract] = {}
        for transport in self.transports:
            for operation in transport.contract.operations():
                self._contracts[operation] = transport.contract
                transport.on(operation, self._answer)

    def reset(self) -> None:
        """Begin anew."""
        self.items.clear()
        self.deleted.clear()
        self.made.clear()

    def send(self, call: Call) -> ServiceResponse:
        """Answer a Call; refused as the gate would."""
        response = super().send(call)
        if response.status >= 400:
            raise ToolExecutionError(service=self.module.name, http_status=response.status, problem=str(response.json))
        return response

    def example(self, call: DescribedCall) -> Json:
        """Return what the description answers, or the service's own example."""
        own = self.rules.examples.get(call.operation)
        return copy.deepcopy(own if own is not None else self._contracts[call.operation].reply(call)[1])

    def example_of(self, place: str) -> Json:
        """Return the example of an item that nobody has created, which has the id in its path."""
        pattern = re.compile(r"\{[^}]+\}")
        for contract in dict.fromkeys(self._contracts.values()):
            for route in contract.routes:
                shape = re.escape(pattern.sub("\0", route.path)).replace("\0", "[^/]+").replace("\\\0", "[^/]+")
                if route.method == "get" and route.path.endswith("}") and re.fullmatch(shape, place):
                    item = self.example(contract.call_of(route.operation))
                    return self.named(item, place.rsplit("/", 1)[1]) if isinstance(item, dict) else item
        return {}

    def named(self, item: Json, id_: str) -> Json:
        """Return an item with this id, of the type that its example's has."""
        key = self.rules.key(item)
        present = item.get(key)
        return {**item, key: int(id_) if isinstance(present, int) and id_.isdecimal() else id_}

    def item(self, place: str) -> Json:
        """Return an item, also one that nobody has created; None for one that was deleted."""
        if place in self.deleted:
            return None
        if place not in self.items:
            self.items[place] = self.rules.seeded(self, place, self.example_of(place))
        return self.items[place]

    def within(self, collection: str) -> list[Json]:
        """Return the items of a collection that were read or written."""
        return [item for place, item in self.items.items() if re.fullmatch(rf"{re.escape(collection)}/[^/]+", place)]

    def create(self, collection: str, fields: Mapping[str, Json], id_: str = "") -> Json:
        """Add an item to a collection, from its example."""
        place = f"{collection}/{id_ or self.rules.new_id(self, collection)}"
        self.deleted.discard(place)
        item = self.example_of(place) or self.named({}, place.rsplit("/", 1)[1])
        self.items[place] = {**item, **self.rules.fresh.get(collection.rsplit("/", 1)[1], {}), **fields}
        self.made.append(place)
        return self.items[place]

    def change(self, place: str, fields: Mapping[str, Json]) -> Json:
        """Merge fields into an item."""
        item = self.item(place)
        if item is not None:
            self.items[place] = {**item, **fields}
        return self.items.get(place)

    def remove(self, place: str) -> None:
        """Delete an item with all below it."""
        for one in [one for one in self.items if one == place or one.startswith(f"{place}/")]:
            del self.items[one]
        self.deleted.add(place)

    def state(self, among: Collection[str] | None = None) -> Counter[tuple[str, str]]:
        """Return what is in which collection, without ids, times and what was created and is archived.

        With `among`, of what nobody has created only these places.
        """
        return Counter(
            (place.rsplit("/", 1)[0], json.dumps(self.rules.compared(item), sort_keys=True, ensure_ascii=False))
            for place, item in self.items.items()
            if (place in self.made and not self._is_gone(item))
            or (place not in self.made and place in (self.items if among is None else among))
        )

    def _is_gone(self, item: Json) -> bool:
        return any(all(item.get(name) == value for name, value in gone.items()) for gone in GONE)

    def _answer(self, call: DescribedCall) -> Json:
        place = re.sub(r"\{(.+?)\}", lambda found: str(call.params[found[1]]), call.path)
        own = self.rules.answers.get(call.operation)
        body = own(self, call, place) if own else self._rest(call, place)
        if body is NotImplemented:
            body = self.example(call)
        if isinstance(body, httpx2.Response):
            return body
        status = 404 if body is None and call.method == "get" else 200
        return httpx2.Response(status, **({} if body is None else {"json": body}))

    def _rest(self, call: DescribedCall, place: str) -> Json:
        is_item = call.path.endswith("}")
        fields = self.rules.stored(call)
        match call.method, is_item:
            case "get", True:
                return self.item(place)
            case "get", False:
                return self._listed(call, place)
            case "post", False if call.json is not None and isinstance(call.json, dict):
                return self.create(place, fields)
            case (("patch" | "put" | "post"), True):
                return self.change(place, fields)
            case "delete", True:
                self.remove(place)
                return None
            case _:
                return NotImplemented

    def _listed(self, call: DescribedCall, place: str) -> Json:
        page = self.example(call)
        items = self.within(place)
        if isinstance(page, list):
            return items
        rows = next((name for name in self.rules.rows if isinstance(page, dict) and name in page), None)
        return {**page, rows: items} if rows else page


class Rules:
    """How a service differs from a collection of JSON objects."""

    rows: tuple[str, ...] = ("value", "items", "results", "values")
    volatile: frozenset[str] = frozenset()
    """Names of ids and times."""
    defaults: Mapping[str, Json] = {}
    """Values that mean the same as none."""
    seeds: Mapping[str, str] = {}
    """By tool: the place of an item that is in a list before the tool is used, with the tool's arguments in it."""
    fresh: Mapping[str, Mapping[str, Json]] = {}
    """By the last part of a collection's path: the fields that an item has when it is created."""
    examples: Mapping[str, Json] = {}
    answers: Mapping[str, Callable[[World, DescribedCall, str], Json]] = {}

    def key(self, item: Json) -> str:
        """Return the name of an item's id."""
        return "id"

    def prepare(self, world: World, tool: str, arguments: Mapping[str, Json]) -> None:
        """Bring about what a use of a tool needs."""
        if tool in self.seeds:
            world.item(self.seeds[tool].format(**arguments))

    def new_id(self, world: World, collection: str) -> str:
        """Return the id of a new item."""
        return str(1_000 + len(world.made))

    def stored(self, call: DescribedCall) -> dict[str, Json]:
        """Return the fields of a request as the service keeps them."""
        return dict(call.json) if isinstance(call.json, dict) else {}

    def compared(self, item: Json) -> Json:
        """Return what of an item must come back: no ids and times, and nothing that is empty."""
        if isinstance(item, list):
            return [self.compared(each) for each in item]
        if not isinstance(item, dict):
            return item
        kept = {name: self.compared(value) for name, value in item.items() if name not in self.volatile}
        return {name: value for name, value in kept.items() if value not in ({}, [], "", None, self.defaults.get(name))}

    def seeded(self, world: World, place: str, item: Json) -> Json:
        """Return an item that nobody has created."""
        return item
