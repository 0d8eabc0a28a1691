"""A callback for the events of MCP, on loopback."""

import base64
import json
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.core.loopback import Service

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


class Receiver(Service):
    """A callback that echoes each challenge, and answers anything else with the next of `replies`."""

    wants = True

    def answer(self, page: BaseHTTPRequestHandler) -> None:
        message = json.loads(self.received[-1].body)
        if message.get("type") != "verification":
            super().answer(page)
            return
        challenge = message["challenge"] if self.wants else "another"
        content = json.dumps({"challenge": challenge}).encode()
        page.send_response(200)
        page.send_header("content-length", str(len(content)))
        page.end_headers()
        page.wfile.write(content)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """What was received but challenges."""
        found = [json.loads(one.body) for one in self.received]
        return [one for one in found if one.get("type") != "verification"]
