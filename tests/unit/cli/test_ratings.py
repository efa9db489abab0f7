# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip ratings without a link: the pages are what they should be to the byte, orders are
random, seeded and blind, a whole session of 23 runs goes through its pages, and the door has two
connections."""

import hashlib
import http.client
import itertools
import json
import os
import socket
import struct
import threading
import time
import unittest
import zlib

from rating_subject import Folder, Person

from openwip_cli import __main__ as launcher
from openwip_cli.errors import BadInput
from openwip_cli.ratings import (
    browser,
    cases,
    command,
    content,
    desk,
    door,
    export,
    pictures,
    session,
    study,
)

NAMES = {case.name for task in cases.TASKS for case in cases.cases_of(task)}
WATCHED = [
    {"what": "open", "t_s": 0.1},
    {"what": "start", "t_s": 10.5},
    {"what": "level", "t_s": 10.5, "kbps": 350},
    {"what": "rebuffer", "t_s": 40.0, "at_s": 29.5},
    {"what": "resume", "t_s": 47.25, "stood_s": 7.25},
    {"what": "level", "t_s": 47.3, "kbps": 100, "why": "a text"},
    {"what": "end", "t_s": 107.8},
]


def chunks(png):
    """(kind, content) of each, whose checksum is right."""
    at, found = 8, []
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        kind, inside = png[at + 4 : at + 8], png[at + 8 : at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size : at + 12 + size])[0] == zlib.crc32(
            kind + inside
        )
        found.append((kind, inside))
        at += 12 + size
    return found


class Content(unittest.TestCase):
    def test_page_a_has_2_kb_of_text_and_a_picture_of_9_kb(self):
        files = content.page_a()
        self.assertEqual(
            {n: len(data) for n, (_, data) in files.items()}, {"page-a.html": 2000, "a.png": 9000}
        )

    def test_page_b_has_166_kb_of_text_and_script_and_54_pictures_of_204_kb(self):
        files = content.page_b()
        stills = {n: d for n, (kind, d) in files.items() if kind == content.PNG}
        self.assertEqual((len(stills), sum(map(len, stills.values()))), (54, 204_000))
        self.assertEqual(sum(len(d) for _, d in files.values()), 370_000)
        page = files["page-b.html"][1].decode()
        self.assertEqual(len(set(stills)), len([n for n in stills if f'src="{n}"' in page]))
        self.assertIn('src="b.js"', page)

    def test_a_page_is_the_same_on_every_machine(self):
        made = b"".join(
            d for files in (content.page_a(), content.page_b()) for _, d in files.values()
        )
        self.assertEqual(
            hashlib.sha256(made).hexdigest(),
            "9c786fa787ec9f990001e2791815791c2c89216fae8cba9c06adca788ae09bcd",
        )

    def test_pictures_are_not_interlaced_and_come_row_by_row(self):
        for size, seed in ((9000, 1), (1874, 5), (5700, 40)):
            found = dict(chunks(pictures.still(size, seed, 120)))
            width, height, depth, kind, *_, interlace = struct.unpack(">IIBBBBB", found[b"IHDR"])
            self.assertEqual((width, depth, kind, interlace), (120, 4, 3, 0))
            self.assertEqual(len(zlib.decompress(found[b"IDAT"])), height * 61)
            self.assertGreater(len(found[b"IDAT"]), 0.9 * size - 200)

    def test_a_picture_that_does_not_fit_is_no_picture(self):
        with self.assertRaises(ValueError):
            pictures.frame(1.0, 320, 180, 500)

    def test_a_segment_of_the_video_has_the_rate_of_its_encoding(self):
        for kbps, (size, count, width, height) in content.ENCODINGS.items():
            data = content.segment(kbps, 61)
            self.assertEqual((len(data), size * 8), (size, kbps * 1000))
            sizes = struct.unpack(f">{1 + count}I", data[: 4 * (1 + count)])
            self.assertEqual(sizes[0], count)
            at = 4 * (1 + count)
            for one in sizes[1:]:
                head = dict(chunks(data[at : at + one]))[b"IHDR"]
                self.assertEqual(struct.unpack(">II", head[:8]), (width, height))
                at += one

    def test_only_what_is_there_is_served(self):
        self.assertEqual(content.find("/segment/350/89")[0], content.SEGMENT)
        for path in ("/", "/segment/350/90", "/segment/200/1", "/segment/350/x", "/../content.py"):
            self.assertIsNone(content.find(path), path)


class Cases(unittest.TestCase):
    def test_tables_8_1_and_8_2(self):
        self.assertEqual([len(cases.cases_of(t)) for t in cases.TASKS], [8, 8, 7])
        self.assertEqual(
            [cases.reference_of(t).name for t in cases.TASKS], ["3840_20_0", "3840_20_0", "WLAN"]
        )
        slow = cases.case_of(cases.PAGE_B, "32_150_20").settings()
        self.assertEqual(
            [slow[k] for k in ("umts.profile", "umts.one_way_ms", "umts.errors")],
            ["umts-32", 75.0, 0.2],
        )
        self.assertEqual({c.settings()["umts.rrc_set_up_ms"] for c in cases.WEB_CASES}, {1000})
        video = cases.case_of(cases.VIDEO, "128_WLAN")
        self.assertEqual(video.settings()["hetnet.networks"], "UMTS:128/32/75,WLAN:1000/64/5")
        self.assertEqual(video.handover, "WLAN")
        self.assertEqual(cases.case_of(cases.VIDEO, "WLAN_32").handover, "UMTS")
        self.assertIsNone(cases.case_of(cases.VIDEO, "WLAN").handover)

    def test_the_emulator_takes_the_settings_of_each_web_case(self):
        from openwip_cli.settings.emulator import scenario_of

        for case in cases.WEB_CASES:
            self.assertEqual(scenario_of(case.settings())["link.kind"], "umts")

    def test_grades_are_5_to_1(self):
        self.assertEqual([cases.grade_of(g) for g in cases.GRADES], [5, 4, 3, 2, 1])


class Key(Folder):
    def test_orders_are_random_for_each_subject_and_the_same_for_a_seed(self):
        key = study.draw(3, 40, cases.TASKS)
        self.assertEqual(key, study.draw(3, 40, cases.TASKS))
        self.assertNotEqual(key["orders"], study.draw(4, 40, cases.TASKS)["orders"])
        for task, count in zip(cases.TASKS, (8, 8, 7)):
            orders = [tuple(o[task]) for o in key["orders"].values()]
            self.assertGreater(len(set(orders)), 35)
            self.assertEqual({frozenset(o) for o in orders}, {frozenset(key["codes"][task])})
            self.assertEqual(len(key["codes"][task]), count)
            # Each case comes first now and then: with 40 subjects 5 are expected.
            self.assertEqual(len({o[0] for o in orders}), count)

    def test_codes_are_drawn(self):
        codes = [study.draw(seed, 1, cases.TASKS)["codes"]["page-a"]["a1"] for seed in range(60)]
        self.assertGreater(len(set(codes)), 5)

    def test_the_key_is_for_its_owner_and_a_study_is_made_once(self):
        made = self.made()
        self.assertEqual(os.stat(made.folder / study.KEY).st_mode & 0o777, 0o600)
        self.assertNotIn("seed", json.loads((made.folder / study.STUDY).read_text()))
        self.assertIn("exists: a study is made once", self.refused("new", self.folder))

    def test_the_last_subjects_see_the_reference_first(self):
        made = self.made(subjects=3, dcr=1)
        self.assertEqual([made.method(n) for n in (1, 2, 3)], ["acr", "acr", "dcr"])
        self.assertEqual([len(made.runs(n)) for n in (1, 3)], [23, 26])
        shown = [(r.task, r.case.name) for r in made.runs(3) if r.number == 0]
        self.assertEqual(shown, [(t, cases.reference_of(t).name) for t in cases.TASKS])
        first_of = {
            task: next(r.number for r in made.runs(3) if r.task == task) for task in cases.TASKS
        }
        self.assertEqual(set(first_of.values()), {0})


class Sessions(Folder):
    def test_the_whole_session_at_speed(self):
        made = self.made()
        person = Person(cases.GRADES, WATCHED)
        lines = self.held(made, 1, person, simulated=True)
        self.assertEqual(
            [(x["task"], x["run"]) for x in lines],
            [(r.task, r.number) for r in made.runs(1)],
        )
        self.assertEqual([x["code"] for x in lines], [r.code for r in made.runs(1)])
        self.assertEqual([x["rating"] for x in lines][:6], [5, 4, 3, 2, 1, 5])
        web = [x for x in lines if x["task"] == cases.PAGE_B]
        self.assertEqual(
            {(x["requests"], x["whole"], x["bytes"]) for x in web}, {(56, 56, 370_000)}
        )
        for x in lines[:16]:
            self.assertLessEqual(x["initial_s"], x["total_s"])
            self.assertLessEqual(x["total_s"], x["stopped_s"])
        phases = [phase for phase, _ in itertools.groupby(p for p, _ in person.pages)]
        self.assertEqual(phases[:2] + phases[-1:], ["consent", "orientation", "done"])
        self.assertEqual(phases.count("rating"), 23)

    def test_the_log_of_a_video(self):
        made = self.made(tasks=[cases.VIDEO])
        line = self.held(made, 1, Person(events=WATCHED))[0]
        self.assertEqual(line["startup_s"], 10.5)
        self.assertEqual(line["rebuffers"], [{"t_s": 40.0, "length_s": 7.25}])
        self.assertEqual(line["levels"], [{"t_s": 10.5, "kbps": 350}, {"t_s": 47.3, "kbps": 100}])
        self.assertEqual((line["end_s"], line["failed"]), (107.8, False))
        row = export.rows_of(made)[0]
        self.assertEqual((row["rebuffers"], row["rebuffer_s"]), (1, 7.25))
        self.assertEqual(row["levels"], "10.5:350 47.3:100")

    def test_a_video_that_is_stopped_while_it_stands(self):
        found = session.of_events(WATCHED[:4])
        self.assertEqual(found["rebuffers"], [{"t_s": 40.0, "length_s": None}])
        self.assertIsNone(found["end_s"])

    def test_neither_page_nor_log_nor_export_names_a_case(self):
        made = self.made(dcr=1, subjects=1, seed=77000077)
        person = Person(cases.GRADES, WATCHED)
        self.held(made, 1, person)
        files = (p for p in made.folder.iterdir() if p.name != study.KEY)
        texts = [html for _, html in person.pages] + [p.read_text() for p in files]
        texts.append(self.openwip("export", self.folder))
        texts.append(self.openwip("export", self.folder, "--json"))
        self.assertGreater(len(texts), 60)
        for text in texts:
            self.assertEqual([n for n in NAMES - {"WLAN"} if n in text], [])
            self.assertNotIn("WLAN", text)
            self.assertNotIn("77000077", text)
        shown = [html for phase, html in person.pages if phase in ("ready", "running", "rating")]
        self.assertTrue(all(", run " in html or ", reference" in html for html in shown))
        codes = [c for codes in made.key()["codes"].values() for c in codes]
        self.assertEqual([c for c in codes for html in shown if f">{c}<" in html], [])

    def test_only_the_owner_of_the_key_sees_the_cases(self):
        made = self.made(tasks=[cases.PAGE_A])
        self.held(made, 1, Person())
        rows = json.loads(self.openwip("export", self.folder, "--unblind", "--json"))["runs"]
        self.assertEqual({r["case"] for r in rows}, set(cases.TEXT))
        self.assertEqual([r["case"] for r in rows], [r.case.name for r in made.runs(1)])

    def test_nothing_personal_is_kept(self):
        made = self.made(tasks=[cases.PAGE_A])
        line = self.held(made, 1, Person())[0]
        self.assertEqual(
            set(line),
            {
                *("subject", "method", "task", "run", "code", "rating", "comment", "valid", "dry"),
                *("simulated", "stopped_s", "initial_s", "total_s", "requests", "whole", "bytes"),
                "last_byte_s",
            },
        )

    def test_an_interrupted_session_goes_on(self):
        made = self.made(tasks=[cases.PAGE_A])
        whole = self.held(made, 1, Person())
        log = made.log_of(1)
        log.write_text("".join(log.read_text().splitlines(True)[:5]))
        self.assertEqual([r.number for r in made.left(1)], [6, 7, 8])
        again = self.held(made, 1, Person())
        self.assertEqual([x["code"] for x in again], [x["code"] for x in whole])
        with self.assertRaisesRegex(BadInput, "this subject has rated all runs"):
            self.held(made, 1, Person())

    def test_a_reference_is_not_rated(self):
        made = self.made(subjects=1, dcr=1, tasks=[cases.PAGE_A])
        person = Person()
        lines = self.held(made, 1, person)
        self.assertEqual((lines[0]["run"], lines[0]["rating"]), (0, None))
        self.assertEqual(person.given, 8)
        self.assertEqual(len(export.rows_of(made)), 8)


class Desk(unittest.TestCase):
    def setUp(self):
        self.desk = desk.Desk(1)
        server = door.Server(("127.0.0.1", 0), desk.handler_of(self.desk))
        server.__enter__()
        self.addCleanup(server.__exit__)
        self.person = Person()
        self.person.host, self.person.cookie = f"127.0.0.1:{server.server_port}", ""

    def test_nobody_takes_part_without_the_address(self):
        self.assertEqual(self.person.ask("GET", "/")[0], 403)
        self.assertEqual(self.person.ask("GET", "/?wrong")[0], 403)
        self.person.press("0")
        self.assertEqual(self.desk.phase, desk.CONSENT)

    def test_a_form_that_is_sent_twice_changes_nothing(self):
        self.person.ask("GET", f"/?{self.desk.token}")
        self.person.press("0")
        self.assertEqual(self.desk.phase, desk.ORIENTATION)
        self.person.press("0")
        self.assertEqual(self.desk.phase, desk.ORIENTATION)

    def test_a_run_needs_a_grade(self):
        self.person.ask("GET", f"/?{self.desk.token}")
        self.desk.prepare(study.Run(cases.PAGE_A, 1, "a1", cases.WEB_CASES[0]))
        self.desk.go(desk.RATING)
        for fields in ({}, {"grade": "Fair"}):
            self.person.press(self.desk.step, **fields)
            self.assertEqual((self.desk.phase, self.desk.rating), (desk.RATING, None))
        self.person.press(self.desk.step, grade="Poor", comment="x" * 9000)
        self.assertEqual((self.desk.phase, self.desk.rating), (desk.PREPARING, 2))
        self.assertEqual(len(self.desk.comment), study.LONGEST_COMMENT)


class SlowContent(door.ContentHandler):
    """Counts how many requests are served at once, and takes its time."""

    lock, now, most, broken = threading.Lock(), 0, 0, 0

    def do_GET(self):
        with SlowContent.lock:
            SlowContent.now += 1
            SlowContent.most = max(SlowContent.most, SlowContent.now)
        time.sleep(0.05)
        with SlowContent.lock:
            SlowContent.now -= 1
        if self.path == "/endless":
            self.send_response(200)
            for name, value in (("Content-Type", "x"), ("Content-Length", "9" * 9)):
                self.send_header(name, value)
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(bytes(65536))
            except OSError:
                SlowContent.broken += 1
            return
        self.answer(200, "text/plain", self.path.encode())


class Doors(unittest.TestCase):
    def setUp(self):
        SlowContent.now = SlowContent.most = SlowContent.broken = 0
        behind = door.Server(("127.0.0.1", 0), SlowContent)
        self.door = door.Door()
        server = door.Server(("127.0.0.1", 0), door.handler_of(self.door))
        for one in (behind, server):
            one.__enter__()
            self.addCleanup(one.__exit__)
        self.port, at = server.server_port, ("127.0.0.1", behind.server_port)
        self.upstream = door.Upstream(lambda: socket.create_connection(at))

    def ask(self, path, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body)
        answer = connection.getresponse()
        found = answer.status, answer.read()
        connection.close()
        return found

    def counted(self, traffic, requests):
        """The report once the door has counted so many, which it does after its answer."""
        end = time.monotonic() + 10
        while traffic.report()["requests"] < requests and time.monotonic() < end:
            time.sleep(0.02)
        return traffic.report()

    def test_two_connections_at_a_time(self):
        with self.door.opened(self.upstream) as traffic:
            threads = [threading.Thread(target=self.ask, args=(f"/{n}",)) for n in range(8)]
            began = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(SlowContent.most, door.CONNECTIONS)
            self.assertGreaterEqual(time.monotonic() - began, 8 / 2 * 0.05)
            found = self.counted(traffic, 8)
        self.assertEqual((found["requests"], found["whole"], found["bytes"]), (8, 8, 16))

    def test_between_runs_nothing_is_behind_the_door(self):
        self.assertEqual(self.ask("/1")[0], 503)
        with self.door.opened(self.upstream):
            self.assertEqual(self.ask("/1"), (200, b"/1"))
        self.assertEqual(self.ask("/1")[0], 503)

    def test_a_browser_that_leaves_ends_the_transfer(self):
        with self.door.opened(self.upstream) as traffic:
            with socket.create_connection(("127.0.0.1", self.port)) as leaving:
                leaving.sendall(b"GET /endless HTTP/1.0\r\n\r\n")
                leaving.recv(100)
            end = time.monotonic() + 10
            while SlowContent.broken == 0 and time.monotonic() < end:
                time.sleep(0.02)
            self.assertEqual(SlowContent.broken, 1)
            self.assertEqual(self.ask("/1"), (200, b"/1"))
            found = self.counted(traffic, 2)
        self.assertEqual((found["requests"], found["whole"]), (2, 1))

    def test_the_end_of_a_run_ends_what_is_coming(self):
        with self.door.opened(self.upstream):
            with socket.create_connection(("127.0.0.1", self.port)) as waiting:
                waiting.sendall(b"GET /endless HTTP/1.0\r\n\r\n")
                waiting.recv(100)
                self.upstream.close()
                end = time.monotonic() + 10
                while SlowContent.broken == 0 and time.monotonic() < end:
                    waiting.recv(1 << 16)
        self.assertEqual(SlowContent.broken, 1)

    def test_of_a_message_only_times_and_events_are_kept(self):
        said = {
            "initial_s": 1.23456,
            "total_s": "2",
            "agent": "x",
            "events": [*WATCHED, 3, {"what": 5}],
        }
        with self.door.opened(self.upstream) as traffic:
            self.assertEqual(self.ask("/log", "POST", json.dumps(said))[0], 204)
            self.assertEqual(self.ask("/log", "POST", "no JSON")[0], 204)
            self.assertEqual(self.ask("/log", "POST", "[1]")[0], 204)
            found = traffic.report()
        self.assertEqual(found["initial_s"], 1.2346)
        self.assertNotIn("total_s", found)
        self.assertNotIn("agent", found)
        self.assertEqual(found["events"][5], {"what": "level", "t_s": 47.3, "kbps": 100})
        self.assertEqual(len(found["events"]), len(WATCHED) + 1)

    def test_only_the_log_takes_messages(self):
        self.assertEqual(self.ask("/1", "POST", "{}")[0], 404)
        self.assertEqual(self.ask("/log", "POST", "x" * (door.LONGEST_LOG + 1))[0], 404)


class Refusals(Folder):
    def test_each_says_what_would_be_valid(self):
        made = self.made(tasks=[cases.PAGE_A])
        self.assertIn(
            "the study", self.refused("session", self.folder, "--subject", "3", "--dry-run")
        )
        self.assertIn(
            "--speed is given without --dry-run",
            self.refused("session", self.folder, "--subject", "1", "--speed", "2"),
        )
        self.assertIn(
            "valid: 0..2",
            self.refused("new", f"{self.folder}2", "--subjects", "2", "--dcr-subjects", "3"),
        )
        self.assertIn("no such file", self.refused("export", f"{self.folder}3"))
        self.assertIn("no such file", self.refused("analyse", f"{self.folder}3.csv"))
        self.assertIn(
            "--unblind is given with a CSV table", self.refused("analyse", "x.csv", "--unblind")
        )
        log = made.log_of(1)
        good = {"subject": 1, "task": "page-a", "run": 1, "code": "a1", "rating": 3, "valid": True}
        for name, value, why in (
            ("rating", 6, "rating is 6; valid: 1..5"),
            ("rating", "3", "rating is 3; valid: 1..5"),
            ("task", "page-c", "task is page-c"),
            ("valid", None, "valid is None"),
        ):
            log.write_text(json.dumps(good | {name: value}) + "\n")
            self.assertIn(why, self.refused("export", self.folder))
        log.write_text("{\n")
        self.assertIn("line 1 is not the entry of a rated run", self.refused("export", self.folder))
        table = made.folder / "x.csv"
        for text, why in (
            ("subject,task\n1,page-a\n", "no column code"),
            ("subject,task,code,rating,valid\n1,page-a,a1,7,yes\n", "line 2: rating is '7'"),
            ("subject,task,code,rating,valid\n1,page-a,a1,x,yes\n", "line 2: rating is 'x'"),
            ("subject,task,code,rating,valid\n1,page-a,a1,3,maybe\n", "line 2: valid is 'maybe'"),
            ("subject,task,code,rating,valid\n1,page-x,a1,3,yes\n", "line 2: task is 'page-x'"),
        ):
            table.write_text(text)
            self.assertIn(why, self.refused("analyse", str(table)))

    def test_a_video_needs_its_link(self):
        if cases.has_handover():
            cases.check_tasks(cases.TASKS)
        else:
            with self.assertRaisesRegex(BadInput, "task video needs --link hetnet"):
                cases.check_tasks(cases.TASKS)
        cases.check_tasks(cases.TASKS, dry=True)

    def test_the_command_is_one_of_the_launcher(self):
        self.assertIs(launcher.find("ratings"), command.main)


@unittest.skipUnless(browser.find(), "no Chromium is installed (Debian: apt install chromium)")
class InABrowser(Folder):
    def test_a_subject_goes_through_a_session(self):
        made = self.made(subjects=1, dcr=1, tasks=[cases.PAGE_A, cases.VIDEO], seed=9)
        log = made.log_of(1)
        # Each task has the reference and one run.
        skipped = [r for r in made.runs(1) if r.number > 1]
        log.write_text(
            "".join(
                json.dumps(
                    {"subject": 1, "task": r.task, "run": r.number, "code": r.code, "rating": 3}
                    | {"valid": True}
                )
                + "\n"
                for r in skipped
            )
        )
        seen = made.folder / "seen"
        self.openwip(
            *("session", self.folder, "--subject", "1", "--dry-run", "--port", "0"),
            *("--speed", "30", "--pictures", str(seen)),
        )
        lines = [x for x in made.lines(1) if "dry" in x]
        self.assertEqual(
            [(x["task"], x["run"]) for x in lines],
            [("page-a", 0), ("page-a", 1), ("video", 0), ("video", 1)],
        )
        self.assertIn(lines[1]["rating"], range(1, 6))
        self.assertTrue(all(x["simulated"] and x["dry"] for x in lines))
        self.assertEqual(lines[1]["whole"], 2)
        self.assertGreater(lines[1]["total_s"], 0)
        self.assertEqual((lines[3]["failed"], lines[3]["requests"]), (False, 92))
        self.assertGreater(lines[3]["end_s"] - lines[3]["startup_s"], 90 / 30)
        for phase in ("consent", "orientation", "ready", "running", "rating", "done"):
            picture = (seen / f"{phase}.png").read_bytes()
            head = dict(chunks(picture))[b"IHDR"]
            self.assertGreater(struct.unpack(">II", head[:8])[0], 1000)


if __name__ == "__main__":
    unittest.main()
