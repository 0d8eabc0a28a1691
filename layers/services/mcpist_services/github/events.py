"""GitHub's events: webhooks of a repository, made with the person's account.

A delivery is known by its body, since GitHub signs nothing else; the body says when it happened.
Reference: https://docs.github.com/en/webhooks/webhook-events-and-payloads
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from mcpist.events.event_type import (
    Argument,
    Arguments,
    EventType,
    HookRequest,
    Occurrence,
    Signature,
    Subscribed,
    Webhook,
    event_type,
)
from mcpist.render.shows import value_at
from mcpist.tools.declare.call import Call
from mcpist_services.github.module import repo_path

HOOK_EVENTS = {
    "issues": "issues",
    "pulls": "pull_request",
    "pushes": "push",
    "runs": "workflow_run",
    "releases": "release",
}
"""GitHub's own names of the types."""


def _signature(request: HookRequest) -> Signature | None:
    given = request.headers.get("x-hub-signature-256", "")
    return Signature(message=request.body, given=given.removeprefix("sha256=")) if given else None


def _occurrences(request: HookRequest, name: str) -> Iterator[Occurrence]:
    if request.headers.get("x-github-event") != HOOK_EVENTS[name]:
        return
    payload = json.loads(request.body)
    actor = value_at(payload, "sender.id")
    yield Occurrence(
        delivery=hashlib.sha256(request.body).hexdigest(),
        occurred_at=_moment(payload, name),
        data=payload,
        actor=None if actor is None else str(actor),
    )


def _moment(payload: Mapping[str, Any], name: str) -> int | None:
    """Return when something happened; of a push the seconds are a number, and everything else has a date."""
    place = {"pushes": "repository.pushed_at", "pulls": "pull_request", "runs": "workflow_run"}.get(name, name[:-1])
    found = value_at(payload, place)
    if isinstance(found, dict):
        found = found.get("updated_at") or found.get("published_at") or found.get("created_at")
    if isinstance(found, int):
        return found
    return int(datetime.fromisoformat(found).astimezone(UTC).timestamp()) if isinstance(found, str) else None


def _subscribe(name: str, arguments: Arguments, url: str, secret: str) -> Call:
    config = {"url": url, "content_type": "json", "secret": secret, "insecure_ssl": "0"}
    body = {"name": "web", "active": True, "events": [HOOK_EVENTS[name]], "config": config}
    return Call("POST", repo_path(arguments["owner"], arguments["repo"], "/hooks"), json=body)


def _unsubscribe(arguments: Arguments, subscription: str) -> Call:
    return Call("DELETE", repo_path(arguments["owner"], arguments["repo"], "/hooks/{hook}", hook=subscription))


HOOK = Webhook(
    signature=_signature,
    occurrences=_occurrences,
    subscribe=_subscribe,
    subscribed=lambda answer: Subscribed(str(answer["id"])),
    unsubscribe=_unsubscribe,
)
REPOSITORY = {
    "owner": Argument("repository.owner.login", "The account that owns the repository, e.g. octocat", locates=True),
    "repo": Argument("repository.name", "The repository's name without its owner, e.g. hello-world", locates=True),
}
COMMON = "action repository.name repository.owner.login repository.full_name sender.login"


def _labels(path: str) -> Argument:
    schema = {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 20}
    return Argument(path, "Only with one of these labels, e.g. bug", schema=schema)


def _type(name: str, description: str, tool: str, payload: str, **arguments: Argument) -> EventType:
    return event_type(
        "github",
        name,
        description,
        tool=tool,
        payload=f"{COMMON} {payload}",
        arguments={**REPOSITORY, **arguments},
        source=HOOK,
    )


def _action(example: str) -> Argument:
    return Argument("action", f"Only this action, e.g. {example}")


TYPES = (
    _type(
        "issues",
        "An issue was opened, edited, labeled, assigned, closed or reopened.",
        "list_issues",
        "issue.number:integer issue.title issue.body issue.state issue.html_url issue.user.login "
        "issue.labels:list=issue.labels[*].name issue.assignees:list=issue.assignees[*].login label.name",
        action=_action("opened"),
        author=Argument("issue.user.login", "Only issues of this account"),
        labels=_labels("issue.labels"),
    ),
    _type(
        "pulls",
        "A pull request was opened, changed, reviewed, merged or closed.",
        "list_pulls",
        "pull_request.number:integer pull_request.title pull_request.body pull_request.state pull_request.html_url "
        "pull_request.draft:boolean pull_request.merged:boolean pull_request.user.login pull_request.head.ref "
        "pull_request.head.sha pull_request.base.ref pull_request.labels:list=pull_request.labels[*].name",
        action=_action("opened"),
        base=Argument("pull_request.base.ref", "Only into this branch, e.g. main"),
        labels=_labels("pull_request.labels"),
    ),
    _type(
        "pushes",
        "Commits were pushed to a branch, or a branch or tag was made or deleted.",
        "list_commits",
        "ref before after compare created:boolean deleted:boolean forced:boolean pusher.name head_commit.id "
        "head_commit.message head_commit.url commits:list=commits[*].id",
        ref=Argument("ref", "Only to this branch or tag, e.g. refs/heads/main"),
    ),
    _type(
        "runs",
        "A workflow run of GitHub Actions was requested, began or completed.",
        "list_runs",
        "workflow_run.id:integer workflow_run.name workflow_run.status workflow_run.conclusion workflow_run.event "
        "workflow_run.head_branch workflow_run.head_sha workflow_run.html_url workflow_run.run_number:integer",
        action=_action("completed"),
        conclusion=Argument("workflow_run.conclusion", "Only with this result, e.g. failure"),
        branch=Argument("workflow_run.head_branch", "Only on this branch, e.g. main"),
    ),
    _type(
        "releases",
        "A release was created, published, edited or deleted.",
        "list_releases",
        "release.id:integer release.tag_name release.name release.body release.draft:boolean "
        "release.prerelease:boolean release.html_url",
        action=_action("published"),
    ),
)
