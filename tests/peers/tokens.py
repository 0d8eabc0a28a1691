"""Token counts by a tokenizer that nobody here wrote."""

import json

from tests.peers.npm import node

SCRIPT = """
const { encode } = require("gpt-tokenizer/encoding/o200k_base");
const texts = JSON.parse(require("fs").readFileSync(0, "utf-8"));
console.log(JSON.stringify(texts.map(text => encode(text).length)));
"""


def o200k(*texts: str) -> list[int]:
    """The tokens of each text in the encoding o200k; skips where node is absent."""
    counts: list[int] = json.loads(node(SCRIPT, json.dumps(texts)))
    return counts
