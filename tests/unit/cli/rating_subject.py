# SPDX-License-Identifier: GPL-3.0-or-later
"""A subject without a browser: presses the buttons of a session by HTTP, asks for the page of a run
with all that is on it, and says to the door what a page would say; and a folder with a study."""

import contextlib
import http.client
import io
import json
import pathlib
import re
import tempfile
import threading
import time
import unittest
import urllib.parse

from openwip_cli.errors import BadInput
from openwip_cli.machine.places import Places
from openwip_cli.ratings import cases, command, session, study

TOP = pathlib.Path(__file__).resolve().parents[3]
PLACES = Places(TOP, TOP / "build", "python3")

PHASE = re.compile(r'data-phase="(\w+)"')
STEP = re.compile(r'name="step" value="(\d+)"')
FRAME = re.compile(r'<iframe id="content" src="([^"]+)"')
INSIDE = re.compile(rb'(?:src)="([^"]+)"')


class Person:
    """A subject that rates by HTTP. `grades`: the grades that it gives, one after the other;
    `pages`: the pages that it got, (phase, HTML)."""

    def __init__(self, grades=("Good",), events=None):
        self.grades, self.given, self.pages = list(grades), 0, []
        self.events = events
        self.failure = None

    def __call__(self, first, _door):
        try:
            self.go_through(first)
        except BaseException as e:
            self.failure = e

    def check(self):
        if self.failure is not None:
            raise self.failure

    def ask(self, method, path, body=None):
        connection = http.client.HTTPConnection(self.host, timeout=20)
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if body is not None:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        if set_to := answer.headers["Set-Cookie"]:
            self.cookie = set_to.partition(";")[0]
        return answer.status, data

    def press(self, step, **fields):
        self.ask("POST", "/", urllib.parse.urlencode({"step": step, **fields}))

    def go_through(self, first):
        address = urllib.parse.urlsplit(first)
        self.host, self.cookie = address.netloc, ""
        assert self.ask("GET", f"/?{address.query}")[0] == 303
        while True:
            text = self.ask("GET", "/")[1].decode()
            phase = PHASE.search(text)[1]
            if not self.pages or self.pages[-1] != (phase, text):
                self.pages.append((phase, text))
            if phase == "done":
                return
            step = STEP.search(text)
            if step is None:
                time.sleep(0.01)
                continue
            fields = {}
            if phase == "running":
                self.look_at(FRAME.search(text)[1])
            if phase == "rating" and 'name="grade"' in text:
                grade = self.grades[self.given % len(self.grades)]
                self.given += 1
                fields = {"grade": grade, "comment": "=1+1" if self.given == 1 else ""}
            self.press(step[1], **fields)

    def look_at(self, frame):
        address = urllib.parse.urlsplit(frame)
        began = time.monotonic()

        def fetch(path):
            connection = http.client.HTTPConnection(address.netloc, timeout=20)
            connection.request("GET", path)
            data = connection.getresponse().read()
            connection.close()
            return data

        page = fetch(f"{address.path}?{address.query}")
        initial = time.monotonic() - began
        inside = [f"/{name.decode()}" for name in INSIDE.findall(page)]
        threads = [threading.Thread(target=fetch, args=(path,)) for path in inside]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        said = {"initial_s": initial, "total_s": time.monotonic() - began, "name": "Ada"}
        if "video" in address.path:
            said = {"events": self.events}
        connection = http.client.HTTPConnection(address.netloc, timeout=20)
        connection.request("POST", "/log", json.dumps(said))
        assert connection.getresponse().status == 204
        connection.close()


class Folder(unittest.TestCase):
    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = str(pathlib.Path(kept.name, "study"))

    def openwip(self, *arguments):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = command.main(list(arguments), PLACES)
        self.assertEqual(code, 0)
        return out.getvalue()

    def refused(self, *arguments):
        with self.assertRaises(BadInput) as raised:
            command.main(list(arguments), PLACES)
        return str(raised.exception)

    def made(self, subjects=2, dcr=0, tasks=cases.TASKS, seed=7):
        return study.make(self.folder, subjects, dcr, tuple(tasks), seed)

    def held(self, made, subject, person, **more):
        session.Session(
            made, subject, PLACES, lambda text: None, dry=True, look=person.check, **more
        ).carry_out("127.0.0.1", 0, person)
        person.check()
        return made.lines(subject)
