# SPDX-License-Identifier: GPL-3.0-or-later
"""A headless Chromium, driven through the pipe of its DevTools protocol (JSON, each message ends
with a zero byte), and the subject of a dry run that sits in front of it."""

import base64
import contextlib
import fcntl
import json
import os
import pathlib
import random
import select
import shutil
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Any

from ..errors import BadInput, NoAnswer
from ..machine import system
from .cases import GRADES
from .desk import CONSENT, DONE, ORIENTATION, RATING, READY, RUNNING
from .door import Door

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
ANSWER_S = 60.0
LOOK_S = 0.1
OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--mute-audio",
    "--disk-cache-size=1",
    "--window-size=1100,850",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)


def find() -> str | None:
    """The Chromium of this machine; None: it has none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def required() -> str:
    program = find()
    if program is None:
        raise BadInput(
            "no Chromium is installed, which --dry-run needs in place of a person's browser;"
            " valid: a machine with"
            f" {' or '.join(NAMES)} (Debian: apt install chromium)"
        )
    return program


class Browser:
    """One page of a browser."""

    def __init__(self) -> None:
        program = required()
        self.profile = tempfile.TemporaryDirectory(
            prefix="openwip-browser-", ignore_cleanup_errors=True
        )
        (to_read, self.to), (self.of, to_write) = os.pipe(), os.pipe()
        # Numbers above those that the browser expects them at.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_read, to_write)]
        root = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [
                "bash",  # other shells take one digit only
                "-c",
                f'exec "$@" 3<&{high[0]} 4>&{high[1]}',
                "bash",
                program,
                *OPTIONS,
                *root,
                f"--user-data-dir={self.profile.name}",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=high,
            start_new_session=True,
            preexec_fn=system.follower(),
        )
        for fd in (to_read, to_write, *high):
            os.close(fd)
        self.number, self.session, self.buffer = 0, "", b""
        try:
            target = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)[
                "sessionId"
            ]
            self.ask("Page.enable")
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command of the protocol; events are passed over."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        deadline = time.monotonic() + ANSWER_S
        try:
            os.write(self.to, json.dumps(message).encode() + b"\0")
        except OSError:
            raise NoAnswer("the browser has ended") from None
        while True:
            text, end, self.buffer = self.buffer.partition(b"\0")
            if not end:
                self.buffer = text + self.more(deadline)
                continue
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise NoAnswer(f"the browser refuses {method}: {answer['error']['message']}")
                result: dict[str, Any] = answer["result"]
                return result

    def more(self, deadline: float) -> bytes:
        ready, _, _ = select.select([self.of], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(self.of, 1 << 16) if ready else b""
        if not data:
            raise NoAnswer("the browser does not answer")
        return data

    def open(self, address: str) -> None:
        """Asks for a page, and does not wait for it."""
        self.ask("Page.navigate", url=address)

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript in the page; None: there is no page just now."""
        with contextlib.suppress(NoAnswer):
            result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)[
                "result"
            ]
            return result.get("value")
        return None

    def picture(self, path: pathlib.Path) -> None:
        """Writes what is on the screen as PNG."""
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.close(self.to)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.of)
        self.profile.cleanup()

    def __enter__(self) -> "Browser":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _value: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.close()


PHASE = (
    "document.readyState === 'loading' || !document.body ? null : document.body.dataset.phase + ' '"
    " + (document.querySelector('[name=step]') || {value: ''}).value"
)


class ProgramAsSubject:
    """Goes through a session as a person does: reads nothing, waits for each page or the end of the
    video, and chooses a grade that is drawn. `pictures`: a folder for what was on the screen, one
    picture of each phase."""

    def __init__(self, seed: int, pictures: pathlib.Path | None = None) -> None:
        self.source, self.pictures = random.Random(seed), pictures
        self.failure: BaseException | None = None

    def __call__(self, first: str, door: Door) -> None:
        try:
            with Browser() as browser:
                browser.open(first)
                self.go_through(browser, door)
        except BaseException as e:
            self.failure = e

    def check(self) -> None:
        """Raises what ended the subject."""
        if self.failure is not None:
            raise self.failure

    def go_through(self, browser: Browser, door: Door) -> None:
        done = ""
        while True:
            found = browser.evaluate(PHASE)
            phase = (found or "").partition(" ")[0]
            if phase == DONE:
                self.look(browser, phase)
                return
            if (
                found is None
                or found == done
                or phase
                not in (
                    CONSENT,
                    ORIENTATION,
                    READY,
                    RUNNING,
                    RATING,
                )
            ):
                time.sleep(LOOK_S)
                continue
            if phase == RUNNING:
                self.watch(door)
            self.look(browser, phase)
            if phase == RATING:
                grade = GRADES[int(self.source.random() * len(GRADES))]
                browser.evaluate(f"document.querySelector('[value={grade}]')?.click()")
            browser.evaluate("document.getElementById('go').click()")
            done = found

    def watch(self, door: Door) -> None:
        """Waits until the page reports that all of it is loaded, or the video that it is over."""
        _, traffic = door.present()
        while True:
            report = traffic.report()
            if "total_s" in report or any(
                event["what"] in ("end", "failed") for event in report.get("events", ())
            ):
                return
            time.sleep(LOOK_S)

    def look(self, browser: Browser, phase: str) -> None:
        if self.pictures is not None and not (path := self.pictures / f"{phase}.png").exists():
            browser.picture(path)
