# SPDX-License-Identifier: GPL-3.0-or-later
"""./openwip demo --replay-iq: a recorded run through receiver and macd, which views show like any
cell. Its decisions are the recorded ones, nothing can be set, an end or a kill leaves nothing, and
what is no recording is refused."""

import datetime
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit" / "capture"))
import capture_support as cs

from demo_support import Demo, built, cells, left_of, openwip, wait_until
from openwip_cli.messages import control, telemetry

CELL, RECORDED = "iqplay", "iqplayrec"
SLOTS = 2707  # with the first slot, 150, the last batch of 15 slots of telemetry is not full


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "not built")
class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="openwip-iq-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.recording = cls.folder / "run"
        demo = openwip(
            "demo",
            "--name",
            RECORDED,
            "--speed",
            "0.5",
            "--pacing-limit-ms",
            "1000",
            "--duration",
            "1",
            "--pings",
            "5",
            "--channel",
            "jakes",
            "--snr",
            "16",
            "--record-iq",
            cls.recording,
            "--record-iq-seconds",
            f"{SLOTS / 1500}",
        )
        # the verdict is not what is tested
        assert demo.returncode in (0, 1), demo.stdout + demo.stderr
        cls.live = json.loads(pathlib.Path(f"{cls.recording}.sigmf-meta").read_text())["global"]

    def replay(self, *arguments):
        """A replay in the background."""
        demo = Demo(CELL, "--replay-iq", self.recording, *arguments)
        self.addCleanup(demo.close)
        return demo

    def gone(self, demo, pids=(), within=0.1):
        wait_until(lambda: not left_of(demo.cell, pids), within)
        self.assertEqual(left_of(demo.cell, pids), [])

    @cs.with_tools
    def test_its_decisions_are_the_recorded_ones_and_all_who_watch_a_cell_see_it(self):
        captured, recorded, report = (self.folder / n for n in ("r.pcapng", "r.h5", "r.json"))
        demo = self.replay("--capture", captured, "--record", recorded, f"--json={report}")
        out, _ = demo.process.communicate(timeout=60)
        self.assertEqual(demo.process.returncode, 0, out + demo.output)
        self.gone(demo)
        # The decisions.
        self.assertTrue(out.startswith("verdict: REPLAY\n  replay: run.sigmf-data"), out)
        self.assertIn("the same decisions", out)
        self.assertNotIn("bit/s", out)
        result = json.loads(report.read_text())
        self.assertEqual(
            (result["replay"]["identical"], result["replay"]["compared"]), (SLOTS, SLOTS)
        )
        self.assertEqual((result["replay"]["same"], result["replay"]["reports_lost"]), (True, 0))
        self.assertEqual((result["verdict"]["valid"], result["verdict"]["replay"]), (False, True))
        self.assertEqual(result["recorded_verdict"], self.live["openwip:verdict"])
        self.assertGreater(result["packets"]["downlink"]["delivered"], 100)
        self.assertNotIn("tcp", result)
        # The captured frames: at the recorded time, and as good as the recording says.
        good = bad = 0
        for note in json.loads(pathlib.Path(f"{self.recording}.sigmf-meta").read_text())[
            "annotations"
        ]:
            good, bad = (
                good + note.get("openwip:frames_good", 0),
                bad + note.get("openwip:frames_bad", 0),
            )
        rows = cs.fields(
            captured,
            ["frame.interface_name", "wip.outcome", "frame.time_epoch", "wip.slot"],
            "wip.slot",
        )
        outcomes = [r["wip.outcome"][0] for r in rows]
        self.assertEqual((outcomes.count("1"), outcomes.count("2")), (good, bad))
        last = max(int(r["wip.slot"][0]) for r in rows)
        self.assertGreater(last % 15, 0)
        self.assertGreater(
            last,
            self.live["openwip:first_slot"] + SLOTS - 15,
            "no traffic at the end: what is tested there?",
        )
        self.assertEqual({r["frame.interface_name"][0] for r in rows}, {"terminal.frames"})
        began = json.loads(pathlib.Path(f"{self.recording}.sigmf-meta").read_text())["captures"][0][
            "core:datetime"
        ]
        first = datetime.datetime.fromisoformat(began.replace("Z", "+00:00")).timestamp()
        expected = (
            first
            + (int(rows[0]["wip.slot"][0]) + 1) / 1500
            - self.live["openwip:first_slot"] / 1500
        )
        self.assertAlmostEqual(float(rows[0]["frame.time_epoch"][0]), expected, delta=0.001)
        self.assertIn("verdict: REPLAY: replay: run.sigmf-data", cs.tool("capinfos", captured))
        # The packets that were reassembled went to the interface, and nobody answered them.
        ways = {
            r["frame.p2p_dir"][0]
            for r in cs.fields(captured, ["frame.p2p_dir"], "frame.interface_name == terminal.ip")
        }
        self.assertEqual(ways, {"1"})
        # The record.
        done = openwip("record", "info", recorded)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("replay", done.stdout)

    def assert_spectrum(self, message):
        """Checks that the power of a spectrum is that of one of the recorded slots before."""
        dbfs = numpy.array(message.receiver.spectrum_dbfs)
        self.assertEqual(len(dbfs), 768)
        # The noise bandwidth of a point is 2.0044 points.
        power = 10 * numpy.log10((10 ** (dbfs / 10)).sum() / 2.0044)
        at = (message.slot - self.live["openwip:first_slot"]) * 5120
        before = numpy.fromfile(f"{self.recording}.sigmf-data", numpy.complex64)[
            max(0, at - 15 * 5120) : at + 5120
        ]
        slots = 10 * numpy.log10((numpy.abs(before.reshape(-1, 5120)) ** 2).mean(axis=1))
        self.assertTrue(slots.min() - 1 < power < slots.max() + 1, (power, slots))

    def test_meanwhile_it_can_be_watched_and_nothing_can_be_set(self):
        demo = self.replay("--speed", "0.05")
        demo.wait_for("playing")
        cell = demo.cell
        reader = telemetry.Reader(
            telemetry.endpoints_of(cell), ("slot", "status", "verdict", "receiver", "frames")
        )
        self.addCleanup(reader.close)
        seen = {}
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and not {
            "slot",
            "status",
            "verdict",
            "receiver",
            "frames",
        } <= set(seen):
            for m in reader.poll(0.2):
                # the first one may have none yet
                if m.topic != "receiver" or m.telemetry.receiver.spectrum_dbfs:
                    seen[m.topic] = (m.source, m.telemetry)
        self.assertEqual(
            {t: source for t, (source, _) in seen.items()},
            {
                "slot": "terminal",
                "status": "terminal",
                "receiver": "terminal",
                "frames": "terminal",
                "verdict": "keeper",
            },
        )
        verdict = seen["verdict"][1].verdict
        self.assertEqual(
            (verdict.command, verdict.valid, verdict.goodput_bps, verdict.capacity_bps),
            ("replay", False, 0, 0),
        )
        self.assert_spectrum(seen["receiver"][1])
        once = openwip("top", "--once", "--name", CELL)
        self.assertIn("verdict   REPLAY: run.sigmf-data", once.stdout)
        self.assertIn("goodput   none", once.stdout)
        self.assertRegex(once.stdout, r"radio +locked")
        status = openwip("status", "--name", CELL)
        self.assertIn(f"replay    of {self.recording}", status.stdout)
        self.assertNotIn("does not answer", status.stdout)
        for arguments in (
            ("set", "--name", CELL, "link.combining=off"),
            ("exec", "--name", CELL, "base", "--", "true"),
            ("packets", "--name", CELL),
        ):
            done = openwip(*arguments)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)
            self.assertIn("replay", done.stderr)
        terminal = control.Control(cell.endpoint("terminal.control"))
        for tree in (
            {"link": {"combining": False}},
            {"phy": {"predictor": "last"}},
            {"uplink": {"kbps": 100}},
        ):
            with self.assertRaisesRegex(control.Refused, "a recording is played"):
                terminal.configure(tree)
        # only settings of telemetry may be changed
        terminal.configure({"telemetry": {"slot_every": 1}})
        os.kill(demo.pid("launcher"), signal.SIGINT)
        self.assertEqual(demo.ended(), 130)
        self.gone(demo)

    def check_kill_of(self, name, code):
        demo = self.replay("--speed", "0.05")
        demo.wait_for("playing")
        time.sleep(0.5)
        pids = [
            demo.pid(n)
            for n in ("terminal.macd", "terminal.radio", "observer", "keeper", "launcher")
        ]
        demo.kill(name)
        self.assertEqual(demo.ended(), code, demo.output)
        self.assertNotIn("Traceback", demo.output)
        self.gone(demo, pids, 3)
        return demo

    def test_a_kill_leaves_nothing(self):
        for name, code in (
            ("terminal.radio", 3),
            ("terminal.macd", 3),
            ("keeper", 3),
            ("launcher", -9),
        ):
            with self.subTest(name):
                demo = self.check_kill_of(name, code)
                if code == 3:
                    shown = {"keeper": "the supervisor"}.get(name, name)
                    self.assertIn(f"openwip: {shown} was killed", demo.output)

    def test_other_samples_are_told(self):
        other = self.folder / "other"
        for ending in (".sigmf-meta", ".sigmf-data", ".openwip-slots"):
            pathlib.Path(f"{other}{ending}").write_bytes(
                pathlib.Path(f"{self.recording}{ending}").read_bytes()
            )
        meta = json.loads(pathlib.Path(f"{other}.sigmf-meta").read_text())
        del meta["global"]["core:sha512"]
        pathlib.Path(f"{other}.sigmf-meta").write_text(json.dumps(meta))
        with open(f"{other}.sigmf-data", "r+b") as f:
            f.seek(600 * 5120 * 8)
            f.write(bytes(2 * 5120 * 8))
        done = openwip("demo", "--name", CELL, "--replay-iq", other)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("NOT the same decisions", done.stdout)
        self.assertEqual(left_of(cells.Cell(CELL)), [])

    def refused(self, word, *arguments):
        done = openwip("demo", "--name", CELL, *arguments)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(word, done.stderr)
        self.assertEqual(left_of(cells.Cell(CELL)), [])

    def test_garbage_is_refused_in_one_line(self):
        self.refused("none', which does not exist", "--replay-iq", self.folder / "none")
        text = self.folder / "text"
        pathlib.Path(f"{text}.sigmf-meta").write_text("no JSON")
        self.refused("is not JSON", "--replay-iq", text)
        short = self.folder / "short"
        for ending in (".sigmf-meta", ".openwip-slots"):
            pathlib.Path(f"{short}{ending}").write_bytes(
                pathlib.Path(f"{self.recording}{ending}").read_bytes()
            )
        pathlib.Path(f"{short}.sigmf-data").write_bytes(bytes(1000))
        self.refused("has 1000 bytes", "--replay-iq", short)
        link = self.folder / "link"
        for ending in (".sigmf-data", ".openwip-slots"):
            pathlib.Path(f"{link}{ending}").symlink_to(f"{self.recording}{ending}")
        meta = json.loads(pathlib.Path(f"{self.recording}.sigmf-meta").read_text())
        meta["global"]["openwip:link"]["order"] = "sideways"
        pathlib.Path(f"{link}.sigmf-meta").write_text(json.dumps(meta))
        self.refused("link.order is sideways", "--replay-iq", link)
        pathlib.Path(f"{link}.openwip-slots").unlink()
        pathlib.Path(f"{link}.openwip-slots").write_bytes(b"OWSLOTS1\x05\0\0\0\xff\xff\xff\xff\xff")
        self.refused("report 0", "--replay-iq", link)

    def test_an_option_that_the_recording_decides_is_refused(self):
        scenario = self.folder / "x.yaml"
        scenario.touch()
        for flag, value in (
            ("--snr", "10"),
            ("--bins", "5"),
            ("--keep", None),
            ("--listen", "tcp://127.0.0.1:9000"),
            ("--config", scenario),
            ("--record-iq", "y"),
        ):
            self.refused(
                f"{flag} is given with --replay-iq",
                "--replay-iq",
                self.recording,
                flag,
                *([value] if value else []),
            )
        self.refused("--speed", "--replay-iq", self.recording, "--speed", "0")


if __name__ == "__main__":
    unittest.main()
