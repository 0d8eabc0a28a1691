"""A headless Chromium, driven over the DevTools protocol through a pipe: no package, no port.

Reference: https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
BROWSER_TIMEOUT_SECONDS = 60.0
POLL_SECONDS = 0.2
# No name but loopback's resolves, and nothing is fetched that no test asked for.
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@dataclass
class Chromium:
    """A running browser."""

    commands: int
    answers: int
    unread: bytes = b""
    asked: int = 0
    errors: list[dict[str, Any]] = field(default_factory=list)

    def profile(self) -> "Page":
        """A page in a profile of its own, with no cookies yet."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.send("Page.enable")
        page.send("Log.enable")
        return page

    def send(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """The result of one command."""
        self.asked += 1
        command = {"id": self.asked, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.asked:
            pass
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def receive(self, timeout: float = BROWSER_TIMEOUT_SECONDS) -> dict[str, Any]:
        """The next answer or event, nothing if there is none for so long; what the console complains of is kept."""
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.answers], [], [], timeout)
            if not ready and timeout < BROWSER_TIMEOUT_SECONDS:
                return {}
            chunk = os.read(self.answers, 65_536) if ready else b""
            assert chunk, "the browser says nothing any more"
            self.unread += chunk
        message, _, self.unread = self.unread.partition(b"\0")
        heard: dict[str, Any] = json.loads(message)
        if heard.get("method") == "Log.entryAdded" and heard["params"]["entry"]["level"] == "error":
            self.errors.append(heard["params"]["entry"])
        return heard


@dataclass
class Page:
    """One page, and what a person does on it."""

    browser: Chromium
    session: str

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command to this page."""
        return self.browser.send(method, self.session, **params)

    def open(self, url: str) -> None:
        """Enter an address."""
        self.send("Page.navigate", url=url)

    def find(self, script: str) -> Any:
        """The value of an expression in the page; None while the page changes."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        return found["result"].get("value") if "exceptionDetails" not in found else None

    def wait_until(self, script: str) -> Any:
        """The value of an expression as soon as it is true; an event of the browser is a reason to look again."""
        ends = time.monotonic() + BROWSER_TIMEOUT_SECONDS
        while not (value := self.find(f"document.readyState === 'complete' && ({script})")):
            assert time.monotonic() < ends, f"{script} never came true on {self.url}: {self.text}"
            self.browser.receive(POLL_SECONDS)
        return value

    def click(self, selector: str) -> None:
        """Click what a selector finds, as soon as it is there."""
        where = json.dumps(selector)
        self.wait_until(f"document.querySelector({where}) !== null")
        self.find(f"document.querySelector({where}).click()")

    def type(self, selector: str, text: str) -> None:
        """Type into a field."""
        self.wait_until(f"document.querySelector({json.dumps(selector)}) !== null")
        self.find(f"document.querySelector({json.dumps(selector)}).focus()")
        self.send("Input.insertText", text=text)

    @property
    def url(self) -> str:
        """The page's address."""
        return str(self.find("location.href"))

    @property
    def text(self) -> str:
        """Return the text that a person reads."""
        return str(self.find("document.body.innerText"))

    def wait_for_text(self, text: str) -> str:
        """All that a person reads, as soon as this is in it."""
        return str(self.wait_until(f"document.body.innerText.includes({json.dumps(text)}) && document.body.innerText"))

    def screenshot(self, folder: Path, name: str) -> None:
        """Pictures of the whole page, in a wide and in a narrow window."""
        for kind, width in (("wide", 1100), ("narrow", 375)):
            self.send("Emulation.setDeviceMetricsOverride", width=width, height=760, deviceScaleFactor=1, mobile=False)
            shot = self.send("Page.captureScreenshot", captureBeyondViewport=True)
            (folder / f"{name}-{kind}.png").write_bytes(base64.b64decode(shot["data"]))
        self.send("Emulation.clearDeviceMetricsOverride")


@contextmanager
def running(folder: Path) -> Iterator[Chromium]:
    """The browser while the context lasts, with its profile in a folder; skips the test where there is none."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(PROGRAMS)} is on PATH: install Chromium")
    ours_in, theirs_out = map(_high, os.pipe())
    theirs_in, ours_out = map(_high, os.pipe())
    silence = os.open(os.devnull, os.O_RDWR)
    moves = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
    quiet = [(os.POSIX_SPAWN_DUP2, silence, number) for number in (1, 2)]
    command = [program, *OPTIONS, f"--user-data-dir={folder}", "about:blank"]
    process = os.posix_spawn(program, command, os.environ, file_actions=[*moves, *quiet], setpgroup=0)
    for number in (theirs_in, theirs_out, silence):
        os.close(number)
    try:
        yield Chromium(ours_out, ours_in)
    finally:
        os.killpg(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(ours_in)
        os.close(ours_out)


def _high(number: int) -> int:
    """Duplicate a file under a number that the browser's own 3 and 4 cannot clash with."""
    moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(number)
    return moved
