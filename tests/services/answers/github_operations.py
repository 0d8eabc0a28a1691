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


def _add_releases(document: dict[str, Any]) -> None:
    releases = f"{REPO}/releases"
    add(document, f"GET {releases}/tags/{{tag}}", "repos/get-release-by-tag", answer=RELEASE)
    add(document, f"GET {releases}/{{release_id}}/assets", "repos/list-release-assets", query=PAGES, answer=[ASSET])
    add(document, f"GET {releases}/assets/{{asset_id}}", "repos/get-release-asset", status=302)
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
