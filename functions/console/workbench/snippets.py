"""A batch as programs start it: the same steps for MCP, curl, Python and TypeScript."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from console.rendering import json_text


def snippets(commands: Sequence[Mapping[str, Any]], public_url: str) -> Mapping[str, str]:
    """Return the request for a batch in each form; a program has its token in MCPIST_TOKEN."""
    url, body = f"{public_url}/v1/batches", {"commands": list(commands), "wait": 20}
    call = {"method": "tools/call", "params": {"name": "batch", "arguments": {"commands": list(commands)}}}
    return {
        "MCP": json_text(call),
        "curl": f"""curl {url} -H "authorization: Bearer $MCPIST_TOKEN" --json @- <<'JSON'
{json.dumps(body, ensure_ascii=False)}
JSON""",
        # No text of JSON has three quotes in a row.
        "Python": f'''import os, urllib.request

batch = r"""{json_text(body)}"""
headers = {{"authorization": f"Bearer {{os.environ['MCPIST_TOKEN']}}", "content-type": "application/json"}}
request = urllib.request.Request("{url}", batch.encode(), headers)
print(urllib.request.urlopen(request).read().decode())''',
        "TypeScript": f"""const batch = {json_text(body)};
const response = await fetch("{url}", {{
  method: "POST",
  headers: {{ authorization: `Bearer ${{process.env.MCPIST_TOKEN}}`, "content-type": "application/json" }},
  body: JSON.stringify(batch),
}});
console.log(await response.json());""",
    }
