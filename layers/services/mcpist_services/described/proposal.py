"""Proposal: an overlay for a description, as far as a program can tell; what it is unsure of is marked."""

import re
from collections.abc import Iterable, Iterator, Mapping

from pydantic import ValidationError

from mcpist.validation import first_error
from mcpist_services.definitions import Effect, refuse
from mcpist_services.described.about import host_of, moved, propose_about, tags_of
from mcpist_services.described.answers import AnswerShape, propose_answer
from mcpist_services.described.arguments import Arguments, NotImportable, leave_paging, propose_arguments
from mcpist_services.described.budget import ImportBudget
from mcpist_services.described.description import Description, Operation
from mcpist_services.described.effects import (
    propose_effect,
    propose_security,
    refused_security,
    reveals_secrets,
    scopes_of,
)
from mcpist_services.described.identifiers import Identifiers
from mcpist_services.described.names import propose_names
from mcpist_services.described.overlay import Overlay, ToolRule, load_overlay
from mcpist_services.described.overlay_files import with_corrections
from mcpist_services.described.paging import link_positions, recognize_paging
from mcpist_services.described.paths import path_parameters
from mcpist_services.described.references import is_chosen, well_formed
from mcpist_services.described.samples import closure
from mcpist_services.described.schemas import Schemas
from mcpist_services.described.secrets import is_secret_name
from mcpist_services.described.undos import with_undos
from mcpist_services.described.webhooks import propose_webhooks
from mcpist_services.described.wording import first_sentence, sentence

MAX_TOOL_DESCRIPTION_CHARACTERS = 120
UNSIGNED = "how its webhooks are signed: add `hooks`, then they are event types"
METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})

_OAUTH_ENDPOINT = re.compile(
    r"/(oauth2?|openid|saml2?)(/[\w.-]+)*/?(authorize|token|revoke|introspect)\b|^/(authorize|token)$"
)


type _Proposed = tuple[ToolRule, Operation, AnswerShape]


def propose(
    description: Description,
    name: str,
    *,
    source: str = "",
    operations: Iterable[str] = (),
    server: str = "",
    names: Mapping[str, str] | None = None,
    earlier: Overlay | None = None,
    budget: ImportBudget | None = None,
) -> Overlay:
    """Return an overlay for the operations that the globs choose; of an earlier one people's corrections stay.

    A glob is compared with an operation's id, its `METHOD /path` and its tags. `server` replaces the description's.
    `names` are those of tools by their operations, where a person has chosen them.
    """
    globs = tuple(operations) or (earlier.operations if earlier else ())
    host = host_of(description, server or (earlier.host if earlier else ""))
    schemas = Schemas(description)
    chosen = _chosen(description, globs)
    with well_formed("#/components/securitySchemes"):
        scheme, security, doubts = propose_security(description, chosen)
    rules, left_out = _importable(description, chosen, schemas, scheme, host, budget or ImportBudget())
    found = _names(name, rules, names or {}, earlier)
    tools = with_undos({found[key]: rule for key, (rule, _, _) in rules.items()})
    proposed = {
        "name": name,
        **propose_about(description),
        "source": source,
        "operations": globs,
        "host": host,
        "security": security,
        "tags": tags_of(operation for _, operation, _ in rules.values()),
        "webhooks": (webhooks := propose_webhooks(description)),
        "review": (*doubts, *moved(description, host), *[UNSIGNED] * bool(webhooks)),
        "tools": tools,
        "left_out": left_out,
        "schemas": closure([rule.model_dump(by_alias=True) for rule in tools.values()], schemas.shared),
    }
    return with_corrections(load_overlay(proposed), earlier)


def _names(
    name: str, rules: Mapping[str, _Proposed], names: Mapping[str, str], earlier: Overlay | None
) -> dict[str, str]:
    """Return the tools' names by their operations: those that a person or an earlier overlay has chosen stay."""
    kept = {rule.operation: tool for tool, rule in earlier.tools.items()} if earlier else {}
    chosen = {key: tool for key, tool in {**names, **kept}.items() if key in rules}
    return propose_names(name, {key: (one, answer.is_list) for key, (_, one, answer) in rules.items()}, chosen)


def _importable(
    description: Description,
    operations: Iterable[Operation],
    schemas: Schemas,
    scheme: str,
    host: str,
    budget: ImportBudget,
) -> tuple[dict[str, _Proposed], dict[str, str]]:
    """Return the operations that become tools, and of the others why not; InvalidRequest where none does."""
    left_out: dict[str, str] = {}
    rules: dict[str, _Proposed] = {}
    identifiers = Identifiers(description.operations)
    for operation in operations:
        budget.check()
        try:
            answer = propose_answer(description, operation, identifiers)
            _check_callable(operation, answer, scheme, host)
            arguments = propose_arguments(operation, schemas)
            rules[operation.key] = _tool(operation, arguments, answer, description, scheme), operation, answer
        except NotImportable as reason:
            left_out[operation.key] = str(reason)
        except ValidationError as error:
            left_out[operation.key] = first_error(error)["msg"]
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            left_out[operation.key] = "its description is malformed"
    if not rules:
        first = next(iter(left_out))
        raise refuse(first, f"no operation can be imported: {left_out[first]}")
    return rules, left_out


def _check_callable(operation: Operation, answer: AnswerShape, scheme: str, host: str) -> None:
    """Raise NotImportable for an operation that no tool can call."""
    if operation.method not in METHODS:
        raise NotImportable(f"its method is {operation.method}")
    if operation.servers and host not in operation.servers and host != operation.servers[0].rstrip("/"):
        raise NotImportable(f"it is on another server, {operation.servers[0]}: import it as a module of its own")
    if _OAUTH_ENDPOINT.search(operation.path.partition("#")[0]):
        raise NotImportable("it issues or revokes tokens, which is the token broker's task")
    if reason := refused_security(operation, scheme):
        raise NotImportable(reason)
    if answer.refused:
        raise NotImportable(answer.refused)
    stated = {one["name"] for one in operation.parameters if one.get("in") == "path"}
    wanted = set(path_parameters(operation.path))
    if stated != wanted:
        raise NotImportable(f"its path names {sorted(wanted)}, and its parameters are {sorted(stated)}")


def _tool(
    operation: Operation, arguments: Arguments, answer: AnswerShape, description: Description, scheme: str
) -> ToolRule:
    effect = propose_effect(operation)
    paging = None
    if effect.effect == "reads":
        paging = recognize_paging(description, operation, answer, arguments.pageable)
    parameters = arguments.parameters
    if paging:
        hidden = (*paging.position, *link_positions(arguments.pageable))
        parameters = leave_paging(parameters, hidden, paging.size)
    return ToolRule(
        operation=operation.key,
        description=_described(operation),
        effect=effect.effect,
        reveals=effect.effect == "reads" and reveals_secrets(operation),
        secrets=tuple(name for name in answer.secrets if not is_secret_name(name)),
        content_type=arguments.content_type,
        headers=arguments.headers,
        document=operation.document,
        parameters=parameters,
        rows=answer.rows,
        download=answer.is_file,
        shows=answer.columns,
        paging=paging,
        scopes=scopes_of(operation, scheme),
        review=(*filter(None, [effect.review]), *_masked(effect.effect, answer)),
    )


def _masked(effect: Effect, answer: AnswerShape) -> Iterator[str]:
    """Yield why a person should look at a tool that makes a secret, which perhaps no later answer shows again."""
    if effect != "reads" and answer.secrets:
        yield f"{', '.join(answer.secrets)} in its answer is masked: set `reveals` if roles with this tool may read it"


def _described(operation: Operation) -> str:
    """Return one line for a model: the summary, else the first sentence of the description."""
    text = first_sentence(operation.summary, MAX_TOOL_DESCRIPTION_CHARACTERS).rstrip(".")
    text = text or first_sentence(operation.description, MAX_TOOL_DESCRIPTION_CHARACTERS).rstrip(".")
    text = text or f"{operation.method} {operation.path.partition('#')[0]}"
    return sentence(text)


def _chosen(description: Description, globs: tuple[str, ...]) -> list[Operation]:
    """Return the operations that fit one of the globs, all where there are none; InvalidRequest where none fits."""
    found = [one for one in description.operations if is_chosen(globs, one.key, one.path, one.id, *one.tags)]
    if not found:
        raise refuse("operations", f"no operation of the description fits {', '.join(globs) or 'it'}")
    return found


def reviews(overlay: Overlay) -> Mapping[str, tuple[str, ...]]:
    """Return the doubts of the import and the problems of its trial, by tool; the key of the whole module is empty."""
    tried = {name: (problem,) for name, problem in overlay.trial.problems.items()}
    found = {"": overlay.review} | {name: rule.review + tried.get(name, ()) for name, rule in overlay.tools.items()}
    return {name: lines for name, lines in found.items() if lines}
