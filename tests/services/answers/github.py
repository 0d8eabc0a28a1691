"""GitHub's answers."""

from base64 import b64encode
from typing import Any

ANSWERS: dict[str, Any] = {
    "repos/get-content": {
        "type": "file",
        "encoding": "base64",
        "size": 8,
        "name": "README.md",
        "path": "docs/README.md",
        "sha": "3d21ec53a331a6f037a91c368710b99387d012c1",
        "url": "https://api.github.com/repos/octocat/hello-world/contents/docs/README.md",
        "git_url": None,
        "html_url": "https://github.com/octocat/hello-world/blob/main/docs/README.md",
        "download_url": None,
        "content": b64encode(b"# Title\n").decode(),
        "_links": {"git": None, "html": None, "self": "https://api.github.com/x"},
    },
}
