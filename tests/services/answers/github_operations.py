"""Operations of GitHub that its description here lacks, by https://docs.github.com/en/rest."""

from typing import Any

from tests.services.answers.additions import add, closed

REPO = "/repos/{owner}/{repo}"
PAGES = {"per_page": "integer", "page": "integer"}
TIME = "2026-01-15T09:30:00Z"
ISSUE = {
    "id": 1,
    "number": 8,
    "title": "Divide",
    "state": "open",
    "repository_url": "https://api.github.com/repos/octocat/hello-world",
    "html_url": "https://github.com/octocat/hello-world/issues/8",
    "assignees": [{"login": "octocat"}],
    "created_at": TIME,
}
CREATED = {
    "name": "hello-world",
    "owner": {"login": "octocat"},
    "default_branch": "main",
    "private": True,
    "html_url": "https://github.com/octocat/hello-world",
}
RELEASE = {
    "id": 1,
    "tag_name": "v1.2.0",
    "name": "1.2",
    "draft": False,
    "prerelease": False,
    "published_at": TIME,
    "author": {"login": "octocat"},
    "assets": [{"name": "notes.txt"}],
    "html_url": "https://github.com/octocat/hello-world/releases/v1.2.0",
    "body": "Faster",
}
ASSET = {
    "id": 1,
    "name": "notes.txt",
    "content_type": "text/plain",
    "size": 12,
    "download_count": 4,
    "created_at": TIME,
    "browser_download_url": "https://github.com/octocat/hello-world/releases/download/v1.2.0/notes.txt",
}
COMMENT = {
    "id": 10,
    "path": "app.py",
    "line": None,
    "original_line": 3,
    "user": {"login": "octocat"},
    "body": "Why?",
    "in_reply_to_id": 9,
    "created_at": TIME,
    "html_url": "https://github.com/octocat/hello-world/pull/1#discussion_r10",
}
PERSON = {
    "login": "octocat",
    "name": None,
    "email": None,
    "type": "User",
    "html_url": "https://github.com/octocat",
}
CODE_ALERT = {
    "number": 4,
    "state": "open",
    "rule": {"severity": "error", "security_severity_level": "high", "description": "SQL injection"},
    "tool": {"name": "CodeQL"},
    "most_recent_instance": {"location": {"path": "app.py", "start_line": 3}},
    "created_at": TIME,
    "html_url": "https://github.com/octocat/hello-world/security/code-scanning/4",
}
PACKAGE_ALERT = {
    "number": 2,
    "state": "open",
    "dependency": {"package": {"ecosystem": "npm", "name": "lodash"}, "manifest_path": "package-lock.json"},
    "security_advisory": {
        "severity": "high",
        "summary": "Prototype pollution",
        "cve_id": "CVE-2026-0001",
        "description": "It pollutes.",
    },
    "security_vulnerability": {
        "vulnerable_version_range": "< 4.17.21",
        "first_patched_version": {"identifier": "4.17.21"},
    },
    "created_at": TIME,
    "html_url": "https://github.com/octocat/hello-world/security/dependabot/2",
}
MILESTONE = {
    "number": 3,
    "title": "1.2",
    "state": "open",
    "description": "Faster search",
    "due_on": TIME,
    "open_issues": 4,
    "closed_issues": 8,
    "created_at": TIME,
    "html_url": "https://github.com/octocat/hello-world/milestone/3",
}
WORKFLOW_ID = {"name": "workflow_id", "in": "path", "required": True, "schema": {"type": "string"}}
PROJECT = {
    "number": 3,
    "title": "Roadmap",
    "state": "open",
    "short_description": "What comes next",
    "owner": {"login": "octo-org", "type": "Organization"},
    "created_at": TIME,
    "updated_at": TIME,
}
FIELD = {
    "id": 7,
    "name": "Status",
    "data_type": "single_select",
    "options": [{"id": "47fc9ee4", "name": {"raw": "Todo", "html": "Todo"}}],
    "created_at": TIME,
}
ITEM = {
    "id": 42,
    "content_type": "Issue",
    "content": {
        "number": 1,
        "title": "Login fails",
        "state": "open",
        "repository_url": "https://api.github.com/repos/octocat/hello-world",
        "html_url": "https://github.com/octocat/hello-world/issues/1",
    },
    "fields": [{"id": 7, "name": "Status", "data_type": "single_select", "value": {"name": {"raw": "Todo"}}}],
    "created_at": TIME,
}
REMARK = {"author": {"login": "octocat"}, "createdAt": TIME, "body": "Agreed."}
DISCUSSION = {
    "id": "D1",
    "number": 5,
    "title": "A darker theme",
    "url": "https://github.com/octocat/hello-world/discussions/5",
    "createdAt": TIME,
    "updatedAt": TIME,
    "isAnswered": True,
    "author": {"login": "octocat"},
    "category": {"name": "Ideas"},
    "comments": {"totalCount": 1, "nodes": [REMARK | {"replies": {"nodes": [REMARK]}}]},
    "body": "My eyes would thank you.",
    "answer": {"body": "Agreed.", "author": {"login": "octocat"}},
}
MADE = {"number": 5, "url": "https://github.com/octocat/hello-world/discussions/5", "id": "D1"}
ANSWERED: dict[str, Any] = {
    "createDiscussion": {"discussion": MADE},
    "addDiscussionComment": {"comment": MADE},
}
ANSWERED["repository"] = {
    "id": "R1",
    "discussions": {"nodes": [DISCUSSION], "pageInfo": {"hasNextPage": False, "endCursor": "Y3Vyc29y"}},
    "discussion": DISCUSSION,
    "discussionCategories": {"nodes": [{"id": "C1", "name": "Ideas", "slug": "ideas"}]},
}
SEVERITY = ["low", "medium", "high", "critical"]


def add_operations(document: dict[str, Any]) -> None:
    """Add them to the description."""
    _add_actions(document)
    _add_repositories(document)
    _add_files(document)
    _add_issues(document)
    _add_pulls(document)
    _add_releases(document)
    _add_alerts(document)
    _add_people(document)
    _add_planning(document)
    _add_projects(document)
    _add_graphql(document)


def _add_actions(document: dict[str, Any]) -> None:
    actions = f"{REPO}/actions"
    add(document, f"GET {actions}/jobs/{{job_id}}/logs", "actions/download-job-logs-for-workflow-run", status=302)
    add(
        document, f"POST {actions}/runs/{{run_id}}/rerun-failed-jobs", "actions/re-run-workflow-failed-jobs", status=201
    )
    add(document, f"POST {actions}/runs/{{run_id}}/cancel", "actions/cancel-workflow-run", status=202)
    artifact = {"id": 11, "name": "coverage", "size_in_bytes": 9, "expired": False, "created_at": TIME, "digest": "x"}
    add(
        document,
        f"GET {actions}/runs/{{run_id}}/artifacts",
        "actions/list-workflow-run-artifacts",
        query={**PAGES, "name": "string"},
        answer={"total_count": 1, "artifacts": [artifact]},
    )
    add(document, f"GET {actions}/artifacts/{{artifact_id}}/zip", "actions/download-artifact", status=302)
    run = {
        "id": 4,
        "name": "test",
        "app": {"slug": "github-actions"},
        "status": "completed",
        "conclusion": "failure",
        "output": {"title": "2 failed"},
        "started_at": TIME,
        "completed_at": TIME,
        "html_url": "https://github.com/octocat/hello-world/runs/4",
    }
    add(
        document,
        f"GET {REPO}/commits/{{+ref}}/check-runs",
        "checks/list-for-ref",
        query={**PAGES, "check_name": "string", "status": ["queued", "in_progress", "completed"]},
        answer={"total_count": 1, "check_runs": [run]},
    )

    status = {"context": "ci/build", "state": "failure", "description": "2 failed", "target_url": "https://ci/1"}
    add(
        document,
        f"GET {REPO}/commits/{{+ref}}/status",
        "repos/get-combined-status-for-ref",
        query=PAGES,
        answer={"state": "failure", "total_count": 1, "statuses": [status | {"created_at": TIME}]},
    )


def _add_repositories(document: dict[str, Any]) -> None:
    fields = {"name": "string", "description": "string", "private": "boolean", "auto_init": "boolean"}
    for place, operation in (("/user", "repos/create-for-authenticated-user"), ("/orgs/{org}", "repos/create-in-org")):
        add(document, f"POST {place}/repos", operation, body=fields, required=["name"], answer=CREATED, status=201)
    texts = dict.fromkeys(("name", "description", "homepage", "default_branch"), "string")
    flags = dict.fromkeys(("archived", "has_issues", "has_wiki", "delete_branch_on_merge"), "boolean")
    add(document, f"PATCH {REPO}", "repos/update", body=texts | flags, answer=CREATED | {"archived": True})
    tag = {"name": "v1.2.0", "commit": {"sha": "c1"}}
    add(document, f"GET {REPO}/tags", "repos/list-tags", query=PAGES, answer=[tag])
    fork = {"organization": "string", "name": "string", "default_branch_only": "boolean"}
    add(document, f"POST {REPO}/forks", "repos/create-fork", body=fork, answer=CREATED, status=202)
    add(document, f"DELETE {REPO}/git/refs/{{+ref}}", "git/delete-ref", status=204)


def _add_files(document: dict[str, Any]) -> None:
    entry = {
        "path": "string",
        "mode": ["100644", "100755", "040000", "160000", "120000"],
        "type": ["blob", "tree", "commit"],
        "content": "string",
    }
    tree = {"base_tree": "string", "tree": (closed(entry),)}
    add(
        document,
        f"POST {REPO}/git/trees",
        "git/create-tree",
        body=tree,
        required=["tree"],
        answer={"sha": "t1"},
        status=201,
    )
    commit = {"message": "string", "tree": "string", "parents": ("string",)}
    made = {"sha": "c1", "html_url": "https://github.com/octocat/hello-world/commit/c1"}
    add(
        document,
        f"POST {REPO}/git/commits",
        "git/create-commit",
        body=commit,
        required=["message", "tree"],
        answer=made,
        status=201,
    )
    add(
        document,
        f"PATCH {REPO}/git/refs/{{+ref}}",
        "git/update-ref",
        body={"sha": "string", "force": "boolean"},
        required=["sha"],
        answer={"ref": "refs/heads/main"},
    )


def _add_issues(document: dict[str, Any]) -> None:
    comment = f"{REPO}/issues/comments/{{comment_id}}"
    said = {"id": 7, "html_url": "https://github.com/octocat/hello-world/issues/1#issuecomment-7"}
    text = {"body": "string"}
    add(document, f"PATCH {comment}", "issues/update-comment", body=text, required=text, answer=said)
    add(document, f"DELETE {comment}", "issues/delete-comment", status=204)
    add(document, f"GET {comment}", "issues/get-comment", answer={**COMMENT, "body": "Fixed in main."})
    label = f"{REPO}/issues/{{issue_number}}/labels/{{name}}"
    add(document, f"DELETE {label}", "issues/remove-label", answer=[{"name": "ui"}])
    issue, body = f"{REPO}/issues/{{issue_number}}", {"sub_issue_id": "integer"}
    add(document, f"GET {issue}/sub_issues", "issues/list-sub-issues", query=PAGES, answer=[ISSUE])
    add(
        document,
        f"POST {issue}/sub_issues",
        "issues/add-sub-issue",
        body=body | {"replace_parent": "boolean"},
        required=body,
        answer=ISSUE,
        status=201,
    )
    add(document, f"DELETE {issue}/sub_issue", "issues/remove-sub-issue", body=body, required=body, answer=ISSUE)


def _add_pulls(document: dict[str, Any]) -> None:
    comments = f"{REPO}/pulls/{{pull_number}}/comments"
    query = {**PAGES, "sort": ["created", "updated"], "direction": ["asc", "desc"], "since": "string"}
    add(document, f"GET {comments}", "pulls/list-review-comments", query=query, answer=[COMMENT])
    add(
        document,
        f"POST {comments}/{{comment_id}}/replies",
        "pulls/create-reply-for-review-comment",
        body={"body": "string"},
        required=["body"],
        answer=COMMENT,
        status=201,
    )

    asked = f"{REPO}/pulls/{{pull_number}}/requested_reviewers"
    people = {"reviewers": ("string",), "team_reviewers": ("string",)}
    left = {"number": 1, "requested_reviewers": [{"login": "octocat"}], "html_url": "https://github.com/o/r/pull/1"}
    gone = {"body": people, "required": ["reviewers"], "answer": left}
    add(document, f"DELETE {asked}", "pulls/remove-requested-reviewers", **gone)
    add(document, f"DELETE {REPO}/pulls/comments/{{comment_id}}", "pulls/delete-review-comment", status=204)


def _add_planning(document: dict[str, Any]) -> None:
    labels, milestones = f"{REPO}/labels", f"{REPO}/milestones"
    label, fields = {"name": "bug", "color": "d73a4a", "description": "x"}, {"color": "string", "description": "string"}
    name = {"name": "string"}
    add(document, f"POST {labels}", "issues/create-label", body=name | fields, required=name, answer=label, status=201)
    body = {"new_name": "string", **fields}
    add(document, f"PATCH {labels}/{{name}}", "issues/update-label", body=body, answer=label)
    add(document, f"DELETE {labels}/{{name}}", "issues/delete-label", status=204)
    query = {**PAGES, "state": ["open", "closed", "all"], "sort": ["due_on", "completeness"]}
    query |= {"direction": ["asc", "desc"]}
    add(document, f"GET {milestones}", "issues/list-milestones", query=query, answer=[MILESTONE])
    title = {"title": "string"}
    body = {**title, "description": "string", "due_on": "string", "state": ["open", "closed"]}
    made = {"body": body, "answer": MILESTONE}
    add(document, f"POST {milestones}", "issues/create-milestone", required=title, status=201, **made)
    add(document, f"PATCH {milestones}/{{milestone_number}}", "issues/update-milestone", **made)
    runs = f"GET {REPO}/actions/workflows/{{workflow_id}}/runs"
    known = document["paths"][f"{REPO}/actions/runs"]["get"]
    document["paths"].setdefault(runs.removeprefix("GET "), {})["get"] = known | {
        "operationId": "actions/list-workflow-runs",
        "parameters": [*known["parameters"], WORKFLOW_ID],
    }
    reviews = f"{REPO}/pulls/{{pull_number}}/reviews/{{review_id}}"
    review = {"id": 80, "state": "APPROVED", "html_url": "https://github.com/octocat/hello-world/pull/1"}
    event = {"event": ["APPROVE", "REQUEST_CHANGES", "COMMENT"]}
    body = {"body": "string", **event}
    add(document, f"POST {reviews}/events", "pulls/submit-review", body=body, required=event, answer=review)
    add(document, f"DELETE {reviews}", "pulls/delete-pending-review", answer=review)
    team = {"slug": "platform", "name": "Platform", "description": "x", "privacy": "closed", "parent": {"slug": "all"}}
    team |= {"html_url": "https://github.com/orgs/octo-org/teams/platform"}
    add(document, "GET /orgs/{org}/teams", "teams/list", query=PAGES, answer=[team])
    person = {"login": "octocat", "type": "User", "html_url": "https://github.com/octocat"}
    members = "GET /orgs/{org}/teams/{team_slug}/members"
    query = {**PAGES, "role": ["member", "maintainer", "all"]}
    add(document, members, "teams/list-members-in-org", query=query, answer=[person])


def _add_projects(document: dict[str, Any]) -> None:
    pages = {"per_page": "integer", "after": "string", "before": "string"}
    for place, whose in (("/orgs/{org}", "org"), ("/users/{username}", "user")):
        one = f"{place}/projectsV2/{{project_number}}"
        query = {**pages, "q": "string"}
        add(document, f"GET {place}/projectsV2", f"projects/list-for-{whose}", query=query, answer=[PROJECT])
        add(document, f"GET {one}/fields", f"projects/list-fields-for-{whose}", query=pages, answer=[FIELD])
        query |= {"fields": "string"}
        add(document, f"GET {one}/items", f"projects/list-items-for-{whose}", query=query, answer=[ITEM])
        item = {"type": ["Issue", "PullRequest"], "id": "integer"}
        name = f"projects/add-item-for-{whose}"
        add(document, f"POST {one}/items", name, body=item, required=item, answer=ITEM, status=201)
        value = {"anyOf": [{"type": "string"}, {"type": "number"}], "nullable": True}
        change = {"fields": (closed({"id": "integer", "value": value}, ["id", "value"]),)}
        name = f"projects/update-item-for-{whose}"
        add(document, f"PATCH {one}/items/{{item_id}}", name, body=change, required=change, answer=ITEM)


def _add_graphql(document: dict[str, Any]) -> None:
    body = {"query": "string", "variables": {"type": "object"}}
    add(document, "POST /graphql", "graphql", body=body, required=["query"], answer={"data": ANSWERED})


def graphql(call: Any) -> dict[str, Any]:
    """Answer a query, or a mutation."""
    changes = call.json["query"].startswith("mutation")
    return {"data": {name: answer for name, answer in ANSWERED.items() if (name == "repository") != changes}}


def _add_releases(document: dict[str, Any]) -> None:
    releases = f"{REPO}/releases"
    add(document, f"GET {releases}/tags/{{tag}}", "repos/get-release-by-tag", answer=RELEASE)
    add(document, f"GET {releases}/{{release_id}}/assets", "repos/list-release-assets", query=PAGES, answer=[ASSET])
    add(document, f"GET {releases}/assets/{{asset_id}}", "repos/get-release-asset", status=302)
    add(document, f"DELETE {releases}/assets/{{asset_id}}", "repos/delete-release-asset", status=204)
    add(document, f"DELETE {releases}/{{release_id}}", "repos/delete-release", status=204)
    add(
        document,
        f"POST {releases}/{{release_id}}/assets",
        "repos/upload-release-asset",
        query={"name": "string", "label": "string"},
        body={},
        required=["name"],
        media="text/plain",  # the type of whatever is sent
        answer=ASSET,
        status=201,
    )


def _add_alerts(document: dict[str, Any]) -> None:
    add(
        document,
        f"GET {REPO}/code-scanning/alerts",
        "code-scanning/list-alerts-for-repo",
        query={
            **PAGES,
            "state": ["open", "dismissed", "fixed"],
            "ref": "string",
            "tool_name": "string",
        },
        answer=[CODE_ALERT],
    )
    query = {
        "per_page": "integer",
        "after": "string",
        "state": (["auto_dismissed", "dismissed", "fixed", "open"],),
        "severity": (SEVERITY,),
        "ecosystem": "string",
        "package": "string",
    }
    alerts = f"{REPO}/dependabot/alerts"
    add(document, f"GET {alerts}", "dependabot/list-alerts-for-repo", query=query, answer=[PACKAGE_ALERT])
    add(document, f"GET {alerts}/{{alert_number}}", "dependabot/get-alert", answer=PACKAGE_ALERT)


def _add_people(document: dict[str, Any]) -> None:
    query = {"q": "string", "order": ["asc", "desc"], **PAGES}
    answer = {"total_count": 1, "items": [PERSON]}
    add(document, "GET /search/users", "search/users", query=query, required=("q",), answer=answer)
