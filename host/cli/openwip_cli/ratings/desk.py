# SPDX-License-Identifier: GPL-3.0-or-later
"""The rating pages: what the subject's browser shows beside the page that is rated, and the state
of the session. The commands of a session (session.py) wait for what the subject does here."""

import html
import re
import secrets
import threading
import time
import urllib.parse
from collections.abc import Callable
from typing import Any

from . import words
from .cases import GRADES, grade_of
from .content import FIRST
from .door import Handler
from .study import LONGEST_COMMENT, Run

CONSENT, ORIENTATION, PREPARING, READY, RUNNING, RATING, DONE = (
    "consent",
    "orientation",
    "preparing",
    "ready",
    "running",
    "rating",
    "done",
)
LOOK_S = 0.05
LONGEST_FORM = 1 << 16  # bytes of a form that the browser sends
HOST = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9a-fA-F:.]{2,45}\]")

STYLE = (
    "body{font:18px/1.5 sans-serif;max-width:44em;margin:1.5em auto;padding:0 1em;color:#222}"
    "button{font:inherit;padding:.5em 1.2em;margin-top:1em}label{display:block;padding:.35em;"
    "cursor:pointer}textarea{width:100%;font:inherit}iframe{width:100%;height:70vh;border:1px"
    " solid #999;background:#fff}body.wide{max-width:72em}h1{font-size:1.2em}"
)


class Desk:
    """The state of a session. A form carries `step`, so that one that is sent twice, or from an
    older page, changes nothing. `token`: a client that does not know it is not served."""

    def __init__(self, door_port: int, query: str = "") -> None:
        self.changed = threading.RLock()
        self.phase, self.step = CONSENT, 0
        self.since: dict[str, float] = {}  # phase -> when it was last entered
        self.run: Run | None = None
        self.door_port, self.query = door_port, query
        self.rating: int | None = None
        self.comment = ""
        self.token = secrets.token_urlsafe(12)

    def go(self, phase: str) -> None:
        with self.changed:
            self.phase = phase
            self.step += 1
            self.since[phase] = time.monotonic()

    def prepare(self, run: Run) -> None:
        """The next run, whose link is being made."""
        with self.changed:
            self.run, self.rating, self.comment = run, None, ""
        self.go(PREPARING)

    def wait(self, *phases: str, pause: Callable[[float], object]) -> str:
        """Waits until the phase is one of these, and returns it. `pause(seconds)` waits, and does
        what has to be done meanwhile."""
        while True:
            with self.changed:
                if self.phase in phases:
                    return self.phase
            pause(LOOK_S)

    def submit(self, form: dict[str, str]) -> None:
        """Takes a button that the subject has pressed; anything that does not belong to the page is ignored."""
        with self.changed:
            if form.get("step") != str(self.step):
                return
            phase, run = self.phase, self.run
        following = {CONSENT: ORIENTATION, ORIENTATION: PREPARING, READY: RUNNING}.get(phase)
        if phase == RUNNING:
            following = RATING
        if phase == RATING and run is not None:
            if run.number and form.get("grade") not in GRADES:
                return
            with self.changed:
                self.rating = grade_of(form["grade"]) if run.number else None
                self.comment = form.get("comment", "").strip()[:LONGEST_COMMENT]
            following = PREPARING
        if following is not None:
            self.go(following)


def paragraphs(texts: tuple[str, ...]) -> str:
    return "".join(f"<p>{html.escape(text)}</p>\n" for text in texts)


def form(desk: Desk, button: str, inside: str = "") -> str:
    return (
        '<form method="post" action="/">\n'
        f'<input type="hidden" name="step" value="{desk.step}">\n{inside}'
        f'<button id="go">{html.escape(button)}</button>\n</form>\n'
    )


def question(run: Run) -> str:
    grades = "".join(
        f'<label><input type="radio" name="grade" value="{grade}" required> {grade}</label>\n'
        for grade in GRADES
    )
    return (
        f"<p>{html.escape(words.QUESTION)}</p>\n{grades}"
        f'<p><label>{html.escape(words.COMMENT)}<textarea name="comment" rows="3"'
        f' maxlength="{LONGEST_COMMENT}"></textarea></label></p>\n'
    )


def title_of(run: Run) -> str:
    """The part of the session and the run, by number alone."""
    return f"{words.NAME[run.task]}, {run.title}"


def body_of(desk: Desk, host: str) -> str:
    """The page of the present phase; a run is called by its number alone."""
    run = desk.run
    if desk.phase == CONSENT:
        return "<h1>Consent</h1>\n" + paragraphs(words.CONSENT) + form(desk, words.CONSENT_BUTTON)
    if desk.phase == ORIENTATION:
        return (
            "<h1>Orientation</h1>\n"
            + paragraphs(words.ORIENTATION)
            + form(desk, words.ORIENTATION_BUTTON)
        )
    if desk.phase == DONE:
        return paragraphs((words.DONE,))
    if desk.phase == PREPARING or run is None:
        return paragraphs((words.PREPARING,))
    head = f"<h1>{html.escape(title_of(run))}</h1>\n"
    if desk.phase == READY:
        shown = (words.TASK[run.task],) + (() if run.number else (words.REFERENCE,))
        return head + paragraphs(shown) + form(desk, words.START[run.task])
    if desk.phase == RUNNING:
        address = f"http://{host}:{desk.door_port}/{FIRST[run.task]}?{desk.query}"
        return (
            head + form(desk, words.STOP[run.task]) + f'<p><iframe id="content"'
            f' src="{html.escape(address)}"></iframe></p>\n'
        )
    return head + (form(desk, "Next", question(run)) if run.number else form(desk, "Next"))


def page_of(desk: Desk, host: str) -> str:
    with desk.changed:
        body = body_of(desk, host)
        waits = desk.phase == PREPARING
        wide = ' class="wide"' if desk.phase == RUNNING else ""
        return (
            '<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>Rating</title>'
            '<link rel="icon" href="data:,">'
            + ('<meta http-equiv="refresh" content="1">' if waits else "")
            + f'<style>{STYLE}</style>\n<body{wide} data-phase="{desk.phase}">\n{body}</body></html>\n'
        )


def handler_of(desk: Desk) -> type[Handler]:
    class DeskHandler(Handler):
        def is_invited(self) -> bool:
            """The first page is asked for with the token, which the browser then has as a cookie."""
            cookies = self.headers.get("Cookie", "")
            return f"session={desk.token}" in cookies.split("; ")

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            if path == "/" and secrets.compare_digest(query.encode(), desk.token.encode()):
                self.answer(
                    303,
                    "text/plain",
                    b"",
                    Location="/",
                    Set_Cookie=f"session={desk.token}; HttpOnly; SameSite=Strict",
                )
            elif not self.is_invited():
                self.answer(403, "text/plain", b"open the address that the session has printed\n")
            elif path != "/":
                self.answer(404, "text/plain", b"there is no such page\n")
            else:
                host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get(
                    "Host", ""
                )
                if not HOST.fullmatch(host):
                    host = "localhost"
                self.answer(200, "text/html; charset=utf-8", page_of(desk, host).encode())

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not self.is_invited() or not length.isdecimal() or int(length) > LONGEST_FORM:
                self.close_connection = True
                self.answer(
                    403, "text/plain", b"this form is not of the session\n", Connection="close"
                )
                return
            sent = self.rfile.read(int(length)).decode(errors="replace")
            fields: list[tuple[str, Any]] = urllib.parse.parse_qsl(sent, keep_blank_values=True)
            desk.submit(dict(fields))
            self.answer(303, "text/plain", b"", Location="/")

    return DeskHandler
