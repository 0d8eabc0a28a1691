"""The page about the API for people: every operation of the OpenAPI document, rendered here, without scripts."""

import base64
import hashlib
import json
from functools import cache
from html import escape
from typing import Any

from aws_lambda_powertools.event_handler import Response

from rest_api.openapi import document, operations
from rest_api.router import new_router

STYLE = """
:root { color-scheme: light dark; --ink: #17181d; --soft: #5d6270; --line: #dfe1e8; --paper: #fff; --ground: #f4f5f8;
  --accent: #3f4fd0 }
@media (prefers-color-scheme: dark) { :root { --ink: #ededf2; --soft: #a3a7b5; --line: #363945; --paper: #1e2027;
  --ground: #131419; --accent: #99a4ff } }
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.55 system-ui, sans-serif }
main { width: min(60rem, 100%); margin: auto; padding: clamp(1.25rem, 5vw, 3rem); background: var(--paper);
  overflow-wrap: anywhere }
h1 { margin: 0 0 .4rem; font-size: 1.6rem } h2 { margin: 2.5rem 0 .5rem; font-size: 1.2rem }
a { color: var(--accent) } .soft { color: var(--soft) }
details { border-top: 1px solid var(--line); padding: .7rem 0 } summary { cursor: pointer }
summary b { display: inline-block; min-width: 4.5rem; font-size: .875rem; text-transform: uppercase }
table { border-collapse: collapse; margin: .75rem 0; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-top: 1px solid var(--line) }
pre { margin: .75rem 0; padding: .8rem 1rem; border-radius: 12px; background: var(--ground); overflow-x: auto;
  font-size: .875rem; white-space: pre-wrap }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
HEADERS = {
    "cache-control": "public, max-age=300",
    "content-security-policy": (
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

router = new_router()


@router.get("/v1/docs", include_in_schema=False)
def get_page() -> Response[str]:
    """Return the page."""
    return Response(200, "text/html; charset=utf-8", render(), headers=dict(HEADERS))


@cache
def render() -> str:
    """Return the document as a page; every text is escaped."""
    content = document()
    groups: dict[str, list[str]] = {}
    for method, path, operation in operations(content):
        groups.setdefault(operation["tags"][0], []).append(_operation(method, path, operation))
    names = (tag["name"] for tag in content["tags"])
    sections = "".join(f"<h2>{escape(name)}</h2>{''.join(groups.get(name, []))}" for name in names)
    info = content["info"]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head><body><main>'
        f"<h1>{escape(info['title'])} API {escape(info['version'])}</h1><p>{escape(info['description'])}</p>"
        f'<p><a href="/v1/openapi.json">openapi.json</a></p>{sections}{_schemas(content)}</main></body></html>'
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    rows = "".join(_parameter(one) for one in operation.get("parameters", ()))
    table = f"<table><tr><th>parameter</th><th>in</th><th>meaning</th></tr>{rows}</table>" if rows else ""
    body = operation.get("requestBody", {}).get("content", {})
    sent = "".join(f"<p>Body: {_type(one['schema'])}</p>" for kind, one in body.items() if "json" in kind)
    return (
        f'<details id="{escape(operation["operationId"])}">'
        f"<summary><b>{escape(method)}</b> <code>{escape(path)}</code> "
        f'<span class="soft">{escape(operation["summary"])}</span></summary>'
        f"<p>{escape(operation.get('description', ''))}</p>{table}{sent}{_responses(operation)}</details>"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    mark = " (required)" if parameter.get("required") else ""
    meaning = parameter.get("description", "") + mark
    schema = json.dumps({key: value for key, value in parameter.get("schema", {}).items() if key != "title"})
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code></td><td>{escape(parameter['in'])}</td>"
        f'<td>{escape(meaning)} <span class="soft">{escape(schema)}</span></td></tr>'
    )


def _responses(operation: dict[str, Any]) -> str:
    items = [
        f"<tr><td>{escape(status)}</td><td>{escape(response.get('description', ''))}</td>"
        f"<td>{_bodies(response)}</td></tr>"
        for status, response in operation["responses"].items()
    ]
    return f"<table><tr><th>status</th><th>meaning</th><th>body</th></tr>{''.join(items)}</table>"


def _bodies(response: dict[str, Any]) -> str:
    return ", ".join(_type(one.get("schema", {})) for one in response.get("content", {}).values())


def _type(schema: dict[str, Any]) -> str:
    """Return a schema's name with a link to it."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#schema-{name}">{name}</a>'
    choices = schema.get("anyOf", ())
    return " or ".join(map(_type, choices)) if choices else escape(str(schema.get("type", "any")))


def _schemas(content: dict[str, Any]) -> str:
    schemas = content["components"]["schemas"]
    items = [
        f'<details id="schema-{escape(name)}"><summary><code>{escape(name)}</code> '
        f'<span class="soft">{escape(schema.get("description", ""))}</span></summary>'
        f"<pre>{escape(json.dumps(schema, indent=2, ensure_ascii=False))}</pre></details>"
        for name, schema in schemas.items()
    ]
    return f"<h2>Schemas</h2>{''.join(items)}"
