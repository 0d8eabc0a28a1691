"""Take the pictures of docs/undo.md from a console that runs: `PYTHONPATH=functions python -m scripts.pictures`."""

import time
from typing import Any

import httpx2

from infra.local.demo import ADMINISTRATOR
from infra.local.deployment import DeploymentOptions, run_local_deployment
from infra.source import ROOT
from tests.whole.browser import running, signed_in

IMAGES = ROOT / "docs/images"
STEPS: tuple[dict[str, Any], ...] = (
    {
        "id": "deploy",
        "module": "rag",
        "tool": "put_doc",
        "params": {"path": "deploy.md", "content": "# Deploy\n\nPress."},
    },
    {"id": "again", "module": "rag", "tool": "delete_doc", "params": {"path": "deploy.md"}, "after": ["deploy"]},
    {"id": "plan", "module": "rag", "tool": "put_doc", "params": {"path": "plan.md", "content": "# Plan\n\nFriday."}},
)


def main() -> None:
    """Make some changes, undo one, and take a picture of the list and of a plan."""
    options = DeploymentOptions(docs=ROOT / "docs/decisions", modules=("rag", "files", "changes"))
    with run_local_deployment(options) as deployment, running() as browser, httpx2.Client(timeout=60) as client:
        client.headers["authorization"] = f"Bearer {deployment.token(ADMINISTRATOR)}"
        url = f"{deployment.aws.api_url}/v1"
        batch = _run(client, url, "/batches", {"commands": STEPS, "undoable": True})
        newest = client.get(f"{url}/changes").json()["changes"][0]["id"]
        _run(client, url, "/undo", {"undo": newest})
        page = signed_in(browser, deployment, ADMINISTRATOR)
        for name, query in (("changes", ""), ("undo", f"?undo={batch}")):
            page.goto(f"{deployment.aws.api_url}/changes{query}")
            page.screenshot(path=IMAGES / f"console-{name}.png")


def _run(client: httpx2.Client, url: str, path: str, body: dict[str, Any]) -> str:
    """Start a batch, agree to what it destroys, wait for its end, and return its id."""
    answer = client.post(f"{url}{path}", json=body).json()
    if state := answer.get("details", {}).get("confirmation"):
        answer = client.post(f"{url}/batches/{state}/confirm").json()
    batch: str = answer["id"]
    while not client.get(f"{url}/batches/{batch}").json()["done"]:
        time.sleep(0.2)
    return batch


if __name__ == "__main__":
    main()
