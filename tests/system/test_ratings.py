# SPDX-License-Identifier: GPL-3.0-or-later
"""A rating study over the emulator's links: what the subject asks for crosses the link of the case,
at its rate and after the set-up of its channel; a session in a browser rates it, and an export does
not say which case it was. One run: the reference and a slow one by HTTP, and a run in Chromium."""

import http.client
import json
import pathlib
import tempfile
import threading
import time
import unittest

from emulate_support import PLACES, PRIVILEGED
from openwip_cli.cell.cell import Cell
from openwip_cli.ratings import browser, cases, door, export, session, study

NAME = "rate"


def fetch(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    data = connection.getresponse().read()
    connection.close()
    return data


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
class OverALink(unittest.TestCase):
    def seen(self, case, *paths):
        """(Seen, seconds) of a run in which these paths are requested one after the other."""
        took = []

        def during(connect, pause, _handover):
            behind = door.Door()
            with (
                door.Server(("127.0.0.1", 0), door.handler_of(behind)) as server,
                behind.opened(door.Upstream(connect)) as traffic,
            ):
                got = []

                def ask():
                    began = time.monotonic()
                    for path in paths:
                        got.append(len(fetch(server.server_port, path)))
                        took.append(time.monotonic() - began)

                thread = threading.Thread(target=ask)
                thread.start()
                while thread.is_alive():
                    pause(0.05)
                return session.Seen(traffic.report() | {"got": got}, 0.0)

        found = session.in_cell(
            cases.case_of(cases.PAGE_A, case), 1, PLACES, during, NAME, cores=None
        )
        self.assertFalse(Cell(NAME).is_up())
        return found, took

    def test_the_reference(self):
        found, took = self.seen("3840_20_0", "/page-a.html", "/a.png")
        self.assertEqual(found.traffic["got"], [2000, 9000])
        # The set-up of the channel, and two round trips for each connection.
        self.assertGreater(took[0], 1.04)
        self.assertLess(took[0], 3.0)
        # The channel is there now.
        self.assertLess(took[1] - took[0], 1.0)
        self.assertGreater(found.report["packets"]["downlink"]["in"], 10)

    def test_a_slow_case(self):
        found, took = self.seen("32_150_1", "/page-a.html", "/a.png")
        self.assertEqual(found.traffic["got"], [2000, 9000])
        # The set-up, four round trips, and the bytes at 32 kbit/s.
        self.assertGreater(took[1], 1 + 4 * 0.15 + 11_000 * 8 / 32e3)
        self.assertLess(took[1], 12)
        self.assertEqual(found.report["config"]["umts"]["profile"], "umts-32")


@unittest.skipUnless(PRIVILEGED, "needs root and /dev/net/tun")
@unittest.skipUnless(browser.find(), "no Chromium is installed (Debian: apt install chromium)")
class ASession(unittest.TestCase):
    def test_a_run_in_a_browser(self):
        with tempfile.TemporaryDirectory() as folder:
            made = study.make(str(pathlib.Path(folder, "study")), 1, 0, (cases.PAGE_A,), 4)
            first, *others = made.runs(1)
            for run in others:
                made.add(
                    1,
                    {"subject": 1, "task": run.task, "run": run.number, "code": run.code}
                    | {"rating": 3, "valid": True},
                )
            subject = browser.ProgramAsSubject(1)
            session.Session(
                made,
                1,
                PLACES,
                lambda text: None,
                name=NAME,
                simulated=True,
                look=subject.check,
            ).carry_out("127.0.0.1", 0, subject)
            line = made.lines(1)[-1]
            self.assertEqual((line["run"], line["whole"], line["dry"]), (1, 2, False))
            self.assertGreater(line["initial_s"], 1.0)
            self.assertGreaterEqual(line["total_s"], line["initial_s"])
            self.assertIn(line["rating"], range(1, 6))
            (link,) = map(json.loads, (made.folder / session.LINKS).read_text().splitlines())
            self.assertEqual(link["case"], first.case.name)
            self.assertEqual((made.folder / session.LINKS).stat().st_mode & 0o777, 0o600)
            self.assertEqual(link["verdict"]["valid"], line["valid"])
            self.assertNotIn(first.case.name, export.csv_of(export.rows_of(made)))


if __name__ == "__main__":
    unittest.main()
