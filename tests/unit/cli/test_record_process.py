# SPDX-License-Identifier: GPL-3.0-or-later
"""The recorder as a process, against scripted publishers: whatever ends it, the file is whole."""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from openwip_schema import telemetry_pb2 as pb
from scripted_publisher import Publisher

from openwip_cli.errors import BadInput, RecordFailed
from openwip_cli.machine import places, procfs, system
from openwip_cli.messages import telemetry
from openwip_cli.records import record as records
from openwip_cli.records import run_record

RECORDER = """
import os, pathlib, sys
from openwip_cli.cell import cell as cells
from openwip_cli.messages import telemetry
from openwip_cli.records import record
from openwip_cli.errors import BadInput, RecordFailed
from openwip_cli.machine.places import Places
run_root, path, seconds, launched, left_on_disk, catch_up, checkpoint_s, largest = sys.argv[1:]
cells.RUN_ROOT = pathlib.Path(run_root)
record.LEFT_ON_DISK = int(left_on_disk)
told, on_disk = pathlib.Path(run_root, "free"), record.free_on_disk
record.free_on_disk = lambda folder: int(told.read_text()) if told.exists() else on_disk(folder)
record.CATCH_UP_S = float(catch_up)
record.FIRST_CHECKPOINT_S = record.CHECKPOINT_S = float(checkpoint_s)
places = Places(pathlib.Path("/"), pathlib.Path("/"), "true")
topics = [t for t in telemetry.TOPICS if t not in record.LEFT_OUT]
try:
    cell = cells.Cell("x")
    code = record.record(cell, path, record.reader_of(cell, topics), float(seconds) if seconds else None, places, launched == "launched",
                         int(largest) or None)
except RecordFailed as e:
    print(f"openwip: {e}", file=sys.stderr, flush=True)
    code = e.code
os._exit(code)
"""
SLOT = {"slot_sample": pb.SlotSample(snr_db=[10.0] * 25)}
AS_IN_MACD = 5000  # bound on what waits for one subscriber


class Recorder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "x").mkdir()
        (self.folder / "out").mkdir()
        self.path = self.folder / "out" / "run.h5"
        self.supervisor = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(self.supervisor.wait)
        self.addCleanup(self.supervisor.kill)
        (self.folder / "x" / "state.json").write_text(
            json.dumps(
                {
                    "keeper": [self.supervisor.pid, procfs.start_time(self.supervisor.pid)],
                    "namespaces": ["owip-x-base"],
                }
            )
        )
        (self.folder / "x" / "run.json").write_text(
            json.dumps(
                {
                    "command": "./openwip demo --bins 3",
                    "scenario": {"link": {"bins": 3}},
                    "seed": 5,
                    "started": "now",
                }
            )
        )
        (self.folder / "x" / "air.yaml").write_text("air: {}\n")
        self.base = Publisher(f"ipc://{self.folder}/x/base.telemetry", AS_IN_MACD)
        self.addCleanup(self.base.close)

    def start(
        self,
        launched=False,
        seconds="",
        left_on_disk=0,
        catch_up="10",
        checkpoint_s=10,
        largest=0,
        **kwargs,
    ):
        self.process = subprocess.Popen(
            [
                sys.executable,
                "-c",
                RECORDER,
                self.folder,
                self.path,
                seconds,
                "launched" if launched else "",
                str(left_on_disk),
                catch_up,
                str(checkpoint_s),
                str(largest),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **kwargs,
        )
        for topic in telemetry.TOPICS:
            if topic not in ("frames", "ip"):
                self.base.await_subscribers(topic)
        if launched:
            self.assertEqual(self.process.stdout.readline(), "recording\n")
        else:
            self.assertIn("recording cell", self.process.stderr.readline())

    def send(self, n):
        for _ in range(n):
            self.base.send("slot", **SLOT)

    def ended(self, text=None):
        out, err = self.process.communicate(text, timeout=60)
        return self.process.returncode, out, err

    def record(self):
        record = run_record.RunRecord(self.path)
        self.addCleanup(record.close)
        # nothing half-done beside it
        self.assertEqual(list(self.path.parent.iterdir()), [self.path])
        return record

    def expect_slots(self, n):
        self.assertEqual(
            list(self.record().table("slot", "base")["message.sequence"]), list(range(1, n + 1))
        )

    # --- what ends it ---

    def expect_whole_after(self, signum):
        self.start()
        self.send(600)
        self.process.send_signal(signum)
        code, out, err = self.ended()
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, f"{self.path}: 600 messages, 0 lost; ended by {signum.name}\n")
        self.expect_slots(600)

    def test_sigint(self):
        self.expect_whole_after(signal.SIGINT)

    def test_sigterm(self):
        self.expect_whole_after(signal.SIGTERM)

    def test_sighup(self):
        self.expect_whole_after(signal.SIGHUP)

    def test_the_end_of_the_cell(self):
        self.start()
        self.send(7)
        self.supervisor.kill()
        self.supervisor.wait()
        code, out, _ = self.ended()
        self.assertEqual(code, 0)
        self.assertIn("ended by the end of the cell", out)
        self.expect_slots(7)

    def test_the_time(self):
        self.start(seconds="1")
        self.send(7)
        self.assertIn("ended by --duration", self.ended()[1])
        self.assertEqual(
            self.record().about["silent"], {"terminal": None, "observer": None, "keeper": None}
        )
        self.expect_slots(7)

    def test_a_disk_that_is_nearly_full(self):
        self.start(left_on_disk=9_000_000)
        (self.folder / "free").write_text("4200000")
        ended = self.ended()[1]
        pattern = r"ended by a disk that has 4\.2 MB free, where a record leaves ([0-9.]+) MB free"
        self.assertRegex(ended, pattern)
        # It is a quarter of what was free at the beginning, or left_on_disk if that is more.
        self.assertGreaterEqual(float(re.search(pattern, ended).group(1)), 9.0)
        self.record()

    def test_a_disk_without_room_is_refused_before_anything_is_made(self):
        needed = records.LEFT_ON_DISK + records.LEAST_ROOM
        with (
            mock.patch.object(records, "free_on_disk", lambda _: 4 << 20),
            self.assertRaisesRegex(
                BadInput,
                f"record .*run.h5: .*out has 4.2 MB free, and a record needs {needed / 1e6:.1f} MB,"
                " .*; valid: a file on a disk with more room",
            ),
        ):
            records.check_target(self.path)
        with mock.patch.object(records, "free_on_disk", lambda _: needed):
            records.check_target(self.path)
        self.assertEqual(list(self.path.parent.iterdir()), [])

    def test_a_disk_that_takes_no_more_is_one_line_and_leaves_nothing(self):
        def little_space():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, 6_000))

        self.start(preexec_fn=little_space)
        self.send(900)
        self.process.send_signal(signal.SIGINT)
        code, _, err = self.ended()
        self.assertEqual((code, len(err.splitlines())), (3, 1))
        self.assertIn(str(self.path), err)
        self.assertEqual(list(self.path.parent.iterdir()), [])

    def expect_part_after_kill(self, sent, checkpoint_s):
        self.start(checkpoint_s=checkpoint_s)
        self.send(sent)
        part = self.path.with_name("run.h5.part")
        self.assertTrue(
            system.wait_until(lambda: part.exists() and self.slots_of(part) >= sent, 30, 0.2)
        )
        self.process.kill()
        self.process.communicate()
        self.assertEqual(list(self.path.parent.iterdir()), [part])
        return part

    @staticmethod
    def slots_of(part):
        """Messages that a reader finds, as a copy says: the recorder holds the file itself."""
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copy(part, folder)
            try:
                with run_record.RunRecord(copy) as record:
                    table = record.table("slot", "base")
                    return len(table) if table is not None else 0
            except BadInput:
                return 0

    def test_what_a_killed_recorder_had_written_is_read_and_recovered(self):
        part = self.expect_part_after_kill(700, 0.3)
        with run_record.RunRecord(part) as record:
            self.assertEqual(
                list(record.table("slot", "base")["message.sequence"]), list(range(1, 701))
            )
            self.assertEqual(record.about["scenario"], {"link": {"bins": 3}})
            self.assertIn("ended without a seal at slot", run_record.info_text(record))
        with self.assertRaisesRegex(
            BadInput, "run.h5.part is there: what a recorder left that was killed"
        ):
            records.check_target(self.path)
        with self.assertRaisesRegex(BadInput, "No such file or directory; .*run.h5.part is there"):
            run_record.RunRecord(self.path)
        done = subprocess.run(
            [sys.executable, "-m", "openwip_cli", "record", "recover", part],
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("ended without a seal at slot", done.stdout)
        self.expect_slots(700)
        self.assertIn("ended without a seal at slot", run_record.info_text(self.record()))

    def test_a_record_that_is_written_now_is_not_read_and_not_replaced(self):
        self.start()
        with self.assertRaisesRegex(BadInput, "another recorder is at work"):
            records.check_target(self.path)
        self.process.send_signal(signal.SIGINT)
        self.ended()

    def test_a_record_that_reaches_its_largest_size_is_cut_and_says_so_and_when(self):
        self.start(launched=True, largest=20_000, checkpoint_s=0.3)
        for n in range(3000):
            self.base.send(
                "slot", slot=n, slot_sample=pb.SlotSample(snr_db=[n + b / 7 for b in range(25)])
            )
        time.sleep(2)
        self.send(1)
        report = {"verdict": {"valid": True, "reasons": [], "checks": {}}}
        code, out, _ = self.ended(json.dumps(report))
        self.assertEqual(code, 0)
        self.assertIn("its largest size of 0 MB", json.loads(out)["ended_by"])
        record = self.record()
        self.assertEqual((record.about["report"], record.verdict["final"]), (report, True))
        slots = record.table("slot", "base")["message.slot"]
        self.assertIn(f"cut at slot {slots.max()}, t=", run_record.info_text(record))
        self.assertEqual(len(slots), record.table("slot", "base").attributes["received"])

    def test_a_record_leaves_a_share_of_the_disk(self):
        limits = records.Limits(self.folder, None)
        free = shutil.disk_usage(self.folder).free
        self.assertAlmostEqual(limits.largest / free, 1 / 2, delta=0.02)
        self.assertAlmostEqual(limits.left / free, 1 / 4, delta=0.02)
        self.assertIsNone(limits.reached(1000))
        self.assertIn("--max-size", limits.reached(limits.largest))

    def test_the_record_of_a_run_that_is_over_leaves_nothing_either(self):
        stream = self.folder / "told"
        stream.write_bytes(b"")
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (6_000, limit[1]))
        try:
            with self.assertRaisesRegex(RecordFailed, "File too large"):
                records.of_file(
                    stream,
                    self.path,
                    {},
                    {"air": "air: {}\n" * 2000},
                    {"versions": {"openwip": "1"}},
                    places.default(),
                )
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        self.assertEqual(list(self.path.parent.iterdir()), [])

    # --- the launcher ---

    def test_the_launcher_says_when_and_what_came_of_the_run(self):
        self.start(launched=True)
        self.send(20)
        report = {
            "verdict": {"valid": True, "reasons": [], "checks": {}},
            "seed": 5,
            "versions": {"openwip": "1"},
            "config": {"link": {"bins": 3}},
        }
        code, out, err = self.ended(json.dumps(report))
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(
            json.loads(out),
            {"messages": 20, "lost": 0, "unread": False, "ended_by": "the launcher"},
        )
        self.expect_slots(20)
        about = self.record().about
        self.assertEqual(about["report"], report)
        self.assertEqual(
            (about["command"], about["seed"], about["versions"]),
            ("./openwip demo --bins 3", 5, {"openwip": "1"}),
        )
        self.assertEqual(about["effective"]["air"], "air: {}\n")
        self.assertTrue(self.record().verdict["final"])

    def test_a_launcher_that_was_killed(self):
        self.start(launched=True)
        self.send(20)
        self.process.stdin.close()
        self.process.stdin = None
        self.assertEqual(self.ended()[0], 0)
        self.expect_slots(20)
        self.assertIsNone(self.record().verdict)
        self.assertEqual(self.record().about["scenario"], {"link": {"bins": 3}})

    def test_what_waits_at_the_end_is_recorded_or_said_to_be_left(self):
        for catch_up, everything in (("10", True), ("0", False)):
            with self.subTest(catch_up):
                self.setUp()
                self.start(launched=True, catch_up=catch_up)
                os.kill(self.process.pid, signal.SIGSTOP)
                self.send(4000)  # few enough to wait, too many for one look
                self.process.stdin.close()
                self.process.stdin = None
                os.kill(self.process.pid, signal.SIGCONT)
                result = json.loads(self.ended()[1])
                self.assertEqual(result["unread"], not everything)
                self.assertEqual(self.record().about["unread"], not everything)
                if everything:
                    table = self.record().table("slot", "base")
                    self.assertEqual(
                        (int(table["message.sequence"][-1]), result["lost"]), (4000, 0)
                    )

    # --- what it hears ---

    def test_gaps_and_garbage_are_in_the_record(self):
        self.start()
        self.send(3)
        self.base.send("slot", sequence=10, **SLOT)
        self.base.raw(b"slot", b"\xff\xff")
        self.base.send("slot", version=pb.VERSION_CURRENT + 1, **SLOT)
        self.base.send("verdict", verdict={"valid": False, "reason": ["late: 1 slot"]})
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended()[0], 0)
        record = self.record()
        self.assertEqual(record.table("slot", "base").attributes["lost"], 6)
        self.assertEqual(
            (record.gaps["sequence_before"][0], record.gaps["sequence_after"][0]), (3, 10)
        )
        self.assertEqual(
            (record.about["malformed"]["base"], record.about["future"]["base"]), (1, 1)
        )
        self.assertEqual(record.verdict["reasons"], ["late: 1 slot"])

    def test_a_recorder_that_stands_still_loses_and_says_so_and_the_publisher_does_not_wait(self):
        self.start()
        os.kill(self.process.pid, signal.SIGSTOP)
        sent = 30000  # messages; a publisher that waited for its reader would not finish
        self.send(sent)
        os.kill(self.process.pid, signal.SIGCONT)
        # the recorder takes the waiting messages, and each of these as it comes
        for _ in range(40):
            time.sleep(0.05)
            self.send(1)
        self.process.send_signal(signal.SIGINT)
        self.assertEqual(self.ended()[0], 0)
        table = self.record().table("slot", "base")
        self.assertGreater(table.attributes["lost"], 0)
        last = int(table["message.sequence"][-1])
        self.assertEqual(table.attributes["received"] + table.attributes["lost"], last)
        self.assertGreater(last, sent)
        self.assertEqual(self.record().gaps["lost"].sum(), table.attributes["lost"])


if __name__ == "__main__":
    unittest.main()
