"""`mcpist api`: REST APIs as modules, made from their OpenAPI descriptions."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from typer import Argument, Option

from infra.cli.api_trial import figures, try_out
from infra.cli.document import CommandError, CommandResult
from infra.cli.mock_api import serve
from infra.cli.options import DryRun, command_group, text_of
from infra.cli.rest_client import Access, part
from infra.cli.rest_commands import to_result
from infra.cli.stored_secrets import parse_app
from infra.cli.whole_file import write_whole
from infra.source import CONFIGURATION
from mcpist.oauth.module_app import ModuleAppRequest
from mcpist.tools.declare.tool import EFFECTS
from mcpist_services.definitions import check_module_name, refuse
from mcpist_services.described.description import DescriptionFile, parse_files
from mcpist_services.described.fetching import fetch
from mcpist_services.described.overlay import Overlay
from mcpist_services.described.overlay_files import (
    compile_overlays,
    differences,
    dump_overlay,
    load_file,
    load_folder,
    provider_names,
)
from mcpist_services.described.proposal import propose, reviews
from mcpist_services.described.ready_apis import READY_APIS
from mcpist_services.described.references import MAX_SOURCE_BYTES
from mcpist_services.registered.catalogue import READY, READY_SERVERS, request_of

APIS = CONFIGURATION / "apis"
COMPILED = "compiled"
OVERLAY_MODE = 0o644  # it is committed, and read by others

FolderOption = Annotated[Path, Option("--folder", metavar="FOLDER", help="The overlays. [default: layers/config/apis]")]
Operations = Annotated[
    list[str] | None,
    Option(
        "--operations", metavar="GLOB", help="Only these: ids, tags, or `GET /path`. [default: as last time, or all]"
    ),
]

api = command_group()


@api.command("import")
def import_api(
    sources: Annotated[
        list[str],
        Argument(
            metavar="FILE|URL|NAME...",
            help="OpenAPI 2.0 to 3.2, a discovery document or a GraphQL schema, all files of one API; "
            f"or one of {', '.join(READY_APIS)}.",
        ),
    ],
    name: Annotated[str | None, Option(metavar="NAME", help="The module's name. [default: the file's]")] = None,
    operations: Operations = None,
    server: Annotated[
        str, Option(metavar="URL", help="The address before the paths, where the description names none.")
    ] = "",
    folder: FolderOption = APIS,
    dry_run: Annotated[bool, Option("--dry-run", help="Write nothing; show what would change.")] = False,
) -> CommandResult:
    """Propose an overlay for an API, or bring one up to date; your corrections stay."""
    ready = None if Path(sources[0]).exists() or len(sources) > 1 else READY_APIS.get(sources[0])
    name = name or _name_of(sources[0])
    check_module_name(name, provider_names())
    file = folder / f"{name}.yaml"
    earlier = load_file(file) if file.exists() else None
    sources = [*ready.sources] if ready else sources
    globs = tuple(operations or (earlier.operations if earlier else ready.operations if ready else ()))
    description = parse_files([*map(_load, sources)], globs)
    shown = ", ".join(map(_shown, sources))
    server, names = (server or ready.server, ready.names) if ready else (server, None)
    overlay = propose(description, name, source=shown, operations=globs, server=server, names=names, earlier=earlier)
    if ready and earlier is None:
        overlay = ready.corrected(overlay)
    overlay = overlay.model_copy(update={"trial": try_out(description, overlay)})
    if not dry_run:
        write_whole(file, dump_overlay(overlay), mode=OVERLAY_MODE)
    return _report(file, earlier, overlay, written=not dry_run)


@api.command("add")
def add_ready(
    access: Access,
    name: Annotated[str, Argument(metavar="NAME", help=f"One of {', '.join(READY)}.")],
    file: Annotated[str, Argument(metavar="FILE", help="JSON of your app there; - is standard input.")] = "",
    server: Annotated[str, Option(metavar="URL", help="The address of your account, where each has its own.")] = "",
    dry_run: DryRun = False,
) -> CommandResult:
    """Add a ready API or MCP server to your organization; with its app people connect by consent."""
    app = parse_app(ModuleAppRequest, text_of(file)).fields() if file else {}
    body = request_of(name, server).model_dump(mode="json", exclude_defaults=True)
    session = access.session()
    made = session.change("POST", "/v1/modules", body, dry_run=dry_run)
    if not dry_run and (app or name in READY_SERVERS):
        made |= {"app": session.change("PUT", f"/v1/modules/{part(name)}/app", app)}
    return to_result(made)


@api.command("mock")
def mock_api(
    sources: Annotated[list[str], Argument(metavar="FILE|URL...", help="The description.")],
    port: Annotated[int, Option(metavar="PORT", help="The port on this machine.")] = 8090,
) -> None:
    """Serve samples of an API's answers on this machine until Ctrl-C, to try an import on."""
    serve(parse_files([*map(_load, sources)]), port)
    sys.exit(0)


@api.command("list")
def list_apis(folder: FolderOption = APIS) -> CommandResult:
    """List the imported APIs."""
    rows = [_row(overlay) for overlay in load_folder(folder)]
    lines = [f"{row['name']}  {row['tools']} tools  {row['host']}  {row['credential']}" for row in rows]
    return CommandResult(
        metadata={"folder": str(folder), "apis": rows}, drawing="\n".join(lines) or "no API is imported"
    )


@api.command("check")
def check_apis(
    folder: FolderOption = APIS,
    build: Annotated[bool, Option("--build", help="Also write what the functions read, as `make build` does.")] = False,
) -> CommandResult:
    """Check the overlays; list what is left to review, and how their tools did on a mock at the last import."""
    overlays = load_folder(folder)
    if build:
        compile_overlays(overlays, folder / COMPILED)
    open_points = {overlay.name: dict(reviews(overlay)) for overlay in overlays if reviews(overlay)}
    lines = [f"{overlay.name}: {len(overlay.tools)} tools, {_tried(overlay)}" for overlay in overlays]
    lines += [
        f"  review {name}{'.' if tool else ''}{tool}: {'; '.join(reasons)}"
        for name, points in open_points.items()
        for tool, reasons in points.items()
    ]
    facts = {"folder": str(folder), "apis": [_row(overlay) for overlay in overlays], "review": open_points}
    return CommandResult(metadata=facts, drawing="\n".join(lines) or "no API is imported")


def _row(overlay: Overlay) -> dict[str, Any]:
    security = overlay.security
    credential = "OAuth or a pasted token" if security.oauth else security.kind
    return {"name": overlay.name, "title": overlay.title, "tools": len(overlay.tools), "host": overlay.host} | {
        "credential": credential,
        "left_out": len(overlay.left_out),
        "trial": figures(overlay.trial),
    }


def _tried(overlay: Overlay) -> str:
    found = figures(overlay.trial)
    share = f", {found['passed'] / found['chains']:.0%}" if found["chains"] else ""
    return (
        f"on its mock {found['passed']} of {found['chains']} chains pass{share} (and {found['untried']} have no id to "
        f"pass on); tools without their id: {found['without_id']}, without data: {found['without_data']}, "
        f"with a secret: {found['secrets']}"
    )


def _report(file: Path, earlier: Overlay | None, overlay: Overlay, *, written: bool) -> CommandResult:
    changes, open_points = differences(earlier, overlay), dict(reviews(overlay))
    total = len(overlay.tools) + len(overlay.left_out)
    effects = [rule.effect for rule in overlay.tools.values()]
    counts = ", ".join(f"{effects.count(effect)} {effect}" for effect in EFFECTS)
    lines = [
        f"{'wrote' if written else 'would write'} {file}: {len(overlay.tools)} of {total} operations ({counts})",
        _tried(overlay),
        *(changes if earlier else ()),
        *(f"review {tool or overlay.name}: {'; '.join(reasons)}" for tool, reasons in open_points.items()),
        *(f"left out {key}: {reason}" for key, reason in overlay.left_out.items()),
    ]
    facts = {
        "file": str(file),
        "written": written,
        "tools": len(overlay.tools),
        "trial": figures(overlay.trial),
        "changes": changes,
        "review": open_points,
        "left_out": overlay.left_out,
    }
    return CommandResult(metadata=facts, drawing="\n".join(lines))


def _name_of(source: str) -> str:
    """Return a module's name for a file or an address: `box.openapi.json` is `box`."""
    stem = Path(urlsplit(source).path).name.partition(".")[0].lower()
    return re.sub(r"[^a-z0-9]+", "_", stem).strip("_")[:32]


def _shown(source: str) -> str:
    """Return a source for the overlay: a file's name, or an address without its query."""
    # The overlay is committed, and a query may hold a secret.
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.netloc}{parts.path}" if parts.netloc else Path(source).name


def _load(source: str) -> DescriptionFile:
    """Return a file of a description."""
    if urlsplit(source).scheme in {"http", "https"}:
        return DescriptionFile(_shown(source), fetch(source))
    return _read(Path(source))


def _read(file: Path) -> DescriptionFile:
    if not file.is_file():
        raise CommandError("FILE_NOT_FOUND", f"{file} is no file", "Name a file or an https:// address.")
    if file.stat().st_size > MAX_SOURCE_BYTES:
        raise refuse(str(file), f"it is larger than {MAX_SOURCE_BYTES // 1_000_000} MB")
    return DescriptionFile(file.name, file.read_bytes(), file.resolve().parent)
