"""Checks a SCIM server by scim2-tester: `python scim_peer.py URL TOKEN` writes counts, and to stderr what failed."""

import json
import sys

from httpx2 import Client
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_tester import Status, check_server


def main() -> None:
    url, token = sys.argv[1:]
    with Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:
        results = check_server(SyncSCIMClient(http))
    counts: dict[str, int] = {}
    for result in results:
        counts[result.status.name] = counts.get(result.status.name, 0) + 1
        if result.status not in {Status.SUCCESS, Status.SKIPPED}:
            failed = f"{result.status.name} {result.title} {result.resource_type}: {result.reason}"
            sys.stderr.write(f"{failed}\n")
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
