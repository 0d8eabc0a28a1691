"""Imported APIs: how much of real descriptions is imported, how good it is, and what a large one costs.

`make bench ARGS="apis"` measures this part alone.
"""

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from statistics import geometric_mean, median
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from benchmarks.arguments import random_arguments
from benchmarks.broker import sandbox_environment
from benchmarks.report import Row
from benchmarks.stub_deployment import run_stub_deployment
from infra.cli.api_trial import figures, try_out
from infra.source import ROOT
from mcpist.bounded_http.request import build_request
from mcpist.errors import McpistError
from mcpist.render.answer import compact, compact_json
from mcpist.tools.declare.call import Call
from mcpist.tools.declare.module import Module
from mcpist.tools.declare.tool import PAGING_PARAMETERS, Tool
from mcpist.tools.search.index import Index, join_indexes
from mcpist_services.catalogue import CATALOGUE
from mcpist_services.described.description import Description, parse
from mcpist_services.described.module import module
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.overlay_files import compile_overlays
from mcpist_services.described.proposal import propose
from tests.peers.tokens import o200k
from tests.services.contracts import SPECS
from tests.services.descriptions.contract import Contract

WHOLE = SPECS.parent / "api-specs"
SERVERS = {"supabase_postgrest": "https://project-ref.supabase.co"}  # its own is a placeholder, which no request names
TRIES = 5  # sets of random arguments for each tool
LARGE = 1_000  # operations
SANDBOXES = 15
QUERIES = ("rename an invoice of a customer", "list overdue invoices", "delete a payment", "顧客の請求書を検索")


def rows() -> Iterator[Row]:
    """Measure each; without the vendors' descriptions or Node, a row says so."""
    for measure in (import_quality, trials, request_quality, tokens, names, large_import, cold_start):
        try:
            yield from measure()
        except pytest.skip.Exception as absent:
            yield (measure.__doc__ or "").partition(".")[0], f"not measured: {absent}", ""


@cache
def imported() -> dict[str, tuple[Description, Overlay, Module, Path]]:
    """Return what the import makes of each description, by name."""
    if not SPECS.exists() or not WHOLE.exists():
        pytest.skip(f"the vendors' API descriptions are not in {SPECS} and {WHOLE}")
    found = {}
    for file in [*sorted(WHOLE.glob("*.openapi.json")), *sorted(SPECS.glob("*.openapi.json"))]:
        name = file.name.removesuffix(".openapi.json").replace("-", "_")
        description = parse(file.read_bytes())
        overlay = propose(description, name, server=SERVERS.get(name, ""))
        found[name] = description, overlay, module(overlay), file
    return found


def import_quality() -> Iterator[Row]:
    """Operations that the import makes tools of."""
    counts = {name: (len(one.tools), len(one.tools) + len(one.left_out)) for name, (_, one, _, _) in imported().items()}
    tools, operations = (sum(count) for count in zip(*counts.values(), strict=True))
    what = f"operations imported of the {operations} of {len(counts)} descriptions"
    yield what, f"{tools} ({tools / operations:.1%})", "95 % or more"
    for name, (some, of) in counts.items():
        if some < of:
            yield f"of these `{name}`; the overlay says why the others are left out", f"{some} of {of}", ""


def trials() -> Iterator[Row]:
    """Chains of imported tools on the mocks that the descriptions give, and what each tool shows there."""
    found = Counter[str]()
    for description, overlay, _, _ in imported().values():
        found.update(figures(try_out(description, overlay)))
    chains, passed, untried = (found[name] for name in ("chains", "passed", "untried"))
    what = f"chains (create, list, get, update, delete) that pass, of {chains}; {untried} more have no id to pass on"
    yield what, f"{passed / chains:.1%} ({passed})", "95 % or more"
    tools = sum(len(overlay.tools) for _, overlay, _, _ in imported().values())
    silent = found["without_id"]
    yield f"imported tools that show no id where their answer has one, of {tools}", f"{silent / tools:.1%}", "3 %"
    yield (
        "imported tools that show no data where their answer has some",
        f"{found['without_data'] / tools:.1%}",
        "3 %",
    )
    yield "imported tools that show a secret", str(found["secrets"]), "0"


def request_quality() -> Iterator[Row]:
    """Requests of imported tools with random arguments that the vendor's description accepts."""
    accepted = sent = 0
    for name, (_, _, found, file) in imported().items():
        described = Contract(file.name.removesuffix(".openapi.json"), json.loads(file.read_text("utf-8")))
        for tool in found.tools.values():
            for arguments in _valid_arguments(tool):
                sent += 1
                accepted += _is_accepted(described, found, tool, arguments)
        assert name
    what = f"requests with random arguments that the vendors' descriptions accept, of {sent:,}"
    yield what, f"{accepted / sent:.1%}", "98 % or more"


def tokens() -> Iterator[Row]:
    """Tokens of imported tools: compact answers against minified JSON, and signatures."""
    ratios: list[str] = []
    signatures: list[str] = []
    for _, _, found, file in imported().values():
        described = Contract(file.name.removesuffix(".openapi.json"), json.loads(file.read_text("utf-8")))
        for tool in found.tools.values():
            signatures.append(tool.signature)
            raw = answer_to(described, tool)
            if raw not in (None, {}, []):
                ratios += [compact(raw, tool.shows), compact_json(raw)]
    counts = o200k(*ratios)
    pairs = list(zip(counts[::2], counts[1::2], strict=True))
    mean = geometric_mean(ours / theirs for ours, theirs in pairs)
    what = f"tokens of the compact answers of {len(pairs)} imported tools, against minified JSON: geometric mean"
    yield what, f"{mean:.2f}", "0.5"
    sizes = o200k(*signatures)
    what = f"tokens of the signature of an imported tool: mean of {len(sizes)} (largest)"
    yield what, f"{sum(sizes) / len(sizes):.0f} ({max(sizes)})", "60"


def names() -> Iterator[Row]:
    """Names of imported tools against those that a person chose."""
    description, overlay, _, _ = imported()["github"]
    ids = {one.key: one.id for one in description.operations}
    proposed = {ids[rule.operation]: name for name, rule in overlay.tools.items()}
    own = {tool.operation: tool.name for tool in CATALOGUE.module("github").tools.values()}
    shared = own.keys() & proposed.keys()
    same = [one for one in shared if own[one] == proposed[one]]
    what = f"names that the import and our own module of GitHub share, of {len(shared)} operations"
    yield what, f"{len(same) / len(shared):.0%}", ""


def large_import() -> Iterator[Row]:
    """A description with 1,000 operations: its import, and the search among its tools."""
    content = json.dumps(large_description()).encode()
    began = time.perf_counter()
    overlay = propose(parse(content), "billing")
    seconds = time.perf_counter() - began
    assert len(overlay.tools) == LARGE
    yield f"import of {LARGE:,} operations ({len(content) / 1e6:.1f} MB)", f"{seconds:.1f} s", "30 s"
    index = join_indexes(CATALOGUE.index, Index.of([module(overlay)]))
    everything = range(len(index.tools))
    index.words.rank(QUERIES[0], everything)  # imports the stemmer and reads the synonyms
    times = []
    for query in QUERIES * 5:
        began = time.perf_counter()
        index.words.rank(query, everything)
        times.append((time.perf_counter() - began) * 1000)
    found = [index.tools[number] for number, _ in index.words.rank("list overdue invoices", everything, 5)]
    assert any(tool.name.startswith("list_invoice") for tool in found), found
    what = f"search among {len(index.tools):,} tools, {LARGE:,} of them imported: median (slowest)"
    yield what, f"{median(times):.1f} ms ({max(times):.1f} ms)", "5 ms"


def cold_start() -> Iterator[Row]:
    """Cold CPU to the first `tools/list` with a large imported API, against without."""
    with run_stub_deployment() as stub, TemporaryDirectory() as folder:
        compile_overlays([propose(parse(json.dumps(large_description()).encode()), "billing")], Path(folder))
        environment = sandbox_environment(stub.deployment.aws, "McpEndpointFunction", stub.folder)
        events = [stub.event_file(name) for name in ("list_tools", "call")]
        seen: dict[str, list[float]] = {"": [], folder: []}
        for number in range(SANDBOXES + 1):  # the first round writes the bytecode and does not count
            for apis, values in seen.items():
                command = [sys.executable, "-m", "benchmarks.sandbox", "ours", *events]
                own = environment | {"APIS": apis or "/nowhere", "AWS_LAMBDA_LOG_LEVEL": "ERROR"}
                process = subprocess.run(command, env=own, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
                if number:
                    values.append(json.loads(process.stdout.splitlines()[-1])["cold_ms"])
    without, with_api = median(seen[""]), median(seen[folder])
    ratio = f"{with_api / without:.3f} ({with_api:.0f} ms : {without:.0f} ms)"
    yield f"cold CPU with an imported API of {LARGE:,} operations, against without", ratio, "1.02"


def large_description() -> dict[str, Any]:
    """Return a description with 1,000 operations of 200 kinds of things, made from one of an invoice."""
    thing = {
        "type": "object",
        "required": ["title"],
        "properties": {
            "id": {"type": "string", "readOnly": True},
            "title": {"type": "string"},
            "state": {"type": "string", "enum": ["open", "paid"]},
            "due_at": {"type": "string", "format": "date-time"},
            **{
                f"field_{number}": {"type": "string", "description": f"The field {number} of it."}
                for number in range(12)
            },
        },
    }
    page: dict[str, Any] = {
        "type": "object",
        "properties": {"items": {"type": "array"}, "next_cursor": {"type": "string"}},
    }
    paths: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for number in range(LARGE // 5):
        name = ("invoice" if number == 0 else f"{_WORDS[number % len(_WORDS)]}{number}").capitalize()
        reference = {"$ref": f"#/components/schemas/{name}"}
        schemas[name] = deepcopy(thing)
        listed = deepcopy(page)
        listed["properties"]["items"]["items"] = reference
        paths |= _resource(f"/{name.lower()}s", name, reference, listed)
    return {
        "openapi": "3.0.3",
        "info": {"title": "Billing", "version": "1"},
        "servers": [{"url": "https://billing.example.com"}],
        "paths": paths,
        "components": {"schemas": schemas},
    }


_WORDS = ("customer", "payment", "refund", "order", "item", "quote", "tax", "discount", "account", "contract")


def _resource(path: str, name: str, reference: dict[str, Any], listed: dict[str, Any]) -> dict[str, Any]:
    def answers(schema: dict[str, Any]) -> dict[str, Any]:
        return {"200": {"description": "OK", "content": {"application/json": {"schema": schema}}}}

    body = {"content": {"application/json": {"schema": reference}}}
    cursor = [{"name": one, "in": "query", "schema": {"type": "string"}} for one in ("cursor", "state")]
    identifier = [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}]
    noun = name.lower()
    return {
        path: {
            "get": {"summary": f"List {noun}s", "parameters": cursor, "responses": answers(listed)},
            "post": {"summary": f"Create a {noun}", "requestBody": body, "responses": answers(reference)},
        },
        f"{path}/{{id}}": {
            "parameters": identifier,
            "get": {"summary": f"Get a {noun}", "responses": answers(reference)},
            "patch": {"summary": f"Update a {noun}", "requestBody": body, "responses": answers(reference)},
            "delete": {"summary": f"Delete a {noun}", "responses": {"204": {"description": "Gone"}}},
        },
    }


def _valid_arguments(tool: Tool) -> Iterator[dict[str, Any]]:
    """Yield sets of random arguments that the tool itself accepts."""
    leave_out = PAGING_PARAMETERS if tool.paging else ()
    found = 0
    for seed in range(TRIES * 4):
        arguments = random_arguments(tool.input_schema, seed, leave_out)
        try:
            tool.validate(arguments)
        except McpistError:
            continue
        found += 1
        yield arguments
        if found == TRIES:
            return


def _is_accepted(described: Any, found: Module, tool: Tool, arguments: dict[str, Any]) -> bool:
    work = tool.describe_work(arguments)
    assert not isinstance(work, Call) or work.path
    call = work if isinstance(work, Call) else next(work)  # type: ignore[arg-type]
    headers = {**found.headers, **call.headers, **found.credential.headers("x")}
    query = {**call.query, **found.credential.query("x")}
    request = build_request(
        call.method, found.host + call.path, query=query, json=call.json, form=call.form, headers=headers, extensions={}
    )
    sent = {name.decode(): value.decode() for name, value in request.headers}
    body = b"".join(request.stream) if request.stream else b""  # type: ignore[arg-type]
    host = found.host.partition("//")[2].partition("/")[0]
    try:
        described.check(call.method, f"https://{host}{request.url.target.decode()}", sent, body)
    except AssertionError:
        return False
    return True


def answer_to(described: Any, tool: Tool) -> Any:
    """Return what a description says that an operation answers."""
    method, _, path = tool.operation.partition(" ")
    route = next(one for one in described.routes if (one.method.upper(), one.path) == (method, path))
    return described.reply(described.call_of(route.operation))[1]
