"""A server over stdio whose tools do what a server should not; what it does at its start is named on the command line.

Alone among our servers it needs no package: `python faulty.py [mute | exit | deaf | babble] [tools=5000]`.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PAGE = 500
TOOLS = ("echo", "hang", "die", "large", "large_first", "flood", "babble", "environment", "spawn", "count", "busy")
MODES = [word for word in sys.argv[1:] if "=" not in word]
SETTINGS = dict(word.split("=", 1) for word in sys.argv[1:] if "=" in word)


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def tools(cursor: str | None) -> dict[str, Any]:
    names = [f"tool_{number}" for number in range(int(SETTINGS["tools"]))] if "tools" in SETTINGS else list(TOOLS)
    start = int(cursor or 0)
    page = [{"name": name, "inputSchema": {"type": "object"}} for name in names[start : start + PAGE]]
    more = {"nextCursor": str(start + PAGE)} if start + PAGE < len(names) else {}
    return {"tools": page, **more}


def call(identifier: Any, name: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a tool; None where it gives none, or has given it by itself."""
    match name:
        case "hang":
            return None
        case "die":
            os._exit(7)
        case "large":
            return text("x" * arguments["size"])
        case "large_first":
            send({"jsonrpc": "2.0", "id": identifier, "result": text("x" * arguments["size"])})
            return None
        case "environment":
            return text(json.dumps({**os.environ, **({"PWD": os.getcwd()} if arguments.get("folder") else {})}))
        case "spawn":
            return text(str(subprocess.Popen(["sleep", "600"]).pid))
    effect(name, arguments)
    return text(str(arguments.get("message", os.getpid())))


def effect(name: str, arguments: dict[str, Any]) -> None:
    """What a tool does besides."""
    match name:
        case "busy":
            time.sleep(arguments["seconds"])
        case "flood":
            for _ in range(arguments["lines"]):
                sys.stderr.write("the key is sesame " * 60 + "\n")
            sys.stderr.flush()
        case "babble":
            sys.stdout.write('Hello!\n\n{"not": "a message"}\n[1, 2\n\x00\x01\n')
        case "count":
            file = Path(arguments["file"])
            file.write_text(str(int(file.read_text() or 0) + 1))
            if arguments.get("die"):
                os._exit(7)


def answer(message: dict[str, Any]) -> dict[str, Any] | None:
    params = message.get("params") or {}
    match message["method"]:
        case "initialize":
            about = {"name": "faulty", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about}
        case "ping":
            return {}
        case "tools/list":
            return tools(params.get("cursor"))
        case "tools/call":
            return call(message["id"], params["name"], params.get("arguments") or {})
    raise LookupError(message["method"])


def main() -> None:
    """Serve until the input ends, or as the way says."""
    if "exit" in MODES:
        sys.stderr.write("starting\n" * 5000 + "API_KEY=sesame1 \x1b[31mno licence for sk-abcdefghijklmnopqrst\n\n")
        sys.exit(3)
    if "deaf" in MODES:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "babble" in MODES:
        sys.stdout.write("Welcome to the server!\n" * 1000)
    for line in sys.stdin:
        message = json.loads(line)
        if "mute" in MODES or "id" not in message:
            continue
        try:
            result = answer(message)
        except LookupError as error:
            problem = {"code": -32601, "message": f"no method {error}"}
            send({"jsonrpc": "2.0", "error": problem, "id": message["id"]})
            continue
        if result is not None:
            send({"jsonrpc": "2.0", "result": result, "id": message["id"]})
    while "deaf" in MODES:
        signal.pause()


if __name__ == "__main__":
    main()
