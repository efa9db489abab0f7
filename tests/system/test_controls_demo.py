# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a running demo cell, over the radio: changed while the demo measures (and in its
report), then one after the other in the cell that stays up, with their effect; and the cell seen
through keys."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

from controls_support import Downlink, Interval, change, dropped, happens, settings_of
from demo_support import GENTLE, Demo, built, openwip
from openwip_cli.cell import remote
from openwip_cli.messages import control

CELL = f"r{os.getpid() % 100000}"


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "macd is not built")
class DemoControls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        path = pathlib.Path(cls.folder.name)
        cls.keys, cls.strange = path / "keys", path / "strange"
        remote.make_keys(cls.keys)
        remote.make_keys(cls.strange)
        port = 30000 + os.getpid() % 20000
        cls.address = f"tcp://127.0.0.1:{port}"
        demo = Demo(
            CELL,
            "--keep",
            "--duration",
            "3",
            "--pings",
            "5",
            "--channel",
            "awgn",
            "--snr",
            "30",
            "--modulation",
            "4",
            f"--json={path / 'r.json'}",
            "--listen",
            f"tcp://0.0.0.0:{port}",
            "--keys",
            str(cls.keys),
            *GENTLE,
        )
        cls.addClassCleanup(demo.close)
        demo.wait_for("TCP download", 90)
        cls.set_while_it_measures = openwip(
            "set", "--name", CELL, "link.bins=5", "channel.snr_db=25"
        )
        demo.process.wait(120)
        cls.screen = demo.process.stdout.read()
        cls.report = json.loads((path / "r.json").read_text())
        cls.cell = demo.cell
        cls.settings = settings_of(CELL)

    def setUp(self):
        downlink = Downlink(self.cell)
        downlink.__enter__()
        self.addCleanup(downlink.__exit__)

    def test_1_the_report_tells_what_was_changed_by_hand(self):
        done = self.set_while_it_measures
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"link\.bins +10 bins -> 5 bins  from slot [1-9]\d+ ")
        self.assertRegex(done.stdout, r"channel\.snr_db +30 dB -> 25 dB  from slot [1-9]\d+ ")
        changes = {c["key"]: c for c in self.report["changes"]}
        self.assertEqual((changes["link.bins"]["from"], changes["link.bins"]["to"]), ("10", "5"))
        self.assertGreater(changes["channel.snr_db"]["slot"], 0)
        self.assertTrue(self.report["capacity"]["settings_changed"])
        self.assertTrue(self.report["verdict"]["checks"]["sums"], self.report["verdict"])
        self.assertTrue(self.report["verdict"]["checks"]["lock"], self.report["verdict"])
        self.assertIn("link.bins 10 -> 5", self.screen)
        self.assertIn("changed by hand", self.screen)
        self.assertIn("snr_db: 25", self.report["effective"]["air"])

    def test_2_modulation_bins_and_snr(self):
        s = self.settings
        for bits in (2, 6):
            change(self, s, link__modulation=bits)
            i = Interval(s)
            self.assertTrue(happens(lambda: i.sent()[bits] > 100), i.sent())
            sent = i.sent()
            self.assertEqual(sum(sent), sent[bits], sent)
        change(self, s, link__bins=4, channel__snr_db=30)
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("slots_planned") > 150))
        self.assertAlmostEqual(i.bins_used(), 4, delta=0.5)
        self.assertTrue(happens(lambda: abs(i._now()[1].radio.mean_snr_db - 30) < 1.5))
        change(self, s, channel__snr_db=12)
        self.assertTrue(happens(lambda: abs(i._now()[1].radio.mean_snr_db - 12) < 1.5))
        i = Interval(s)  # 64-QAM at 12 dB: nothing comes through at once
        self.assertTrue(happens(lambda: i.frames("frames_failed") > 50))
        change(self, s, link__max_retransmissions=1)
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("frames_given_up") > 20))
        change(
            self,
            s,
            channel__snr_db=30,
            link__max_retransmissions=30,
            wired__loss=1,
            wired__uplink_delay_ms=20,
        )
        self.assertTrue(happens(lambda: dropped(s, "wired_loss") > 20))
        change(self, s, wired__loss=0, wired__uplink_delay_ms="same")

    def test_3_the_receiver_changes_predictor_and_combining_without_losing_lock(self):
        s = self.settings
        change(
            self,
            s,
            channel__model="flat",
            channel__speed_kmh=20,
            channel__snr_db=25,
            link__modulation="adaptive",
            link__bins=10,
        )
        s.read()
        losses = s.status["terminal"].radio.lock_losses
        for predictor in ("last", "kalman", "ls", "ar", "delay"):
            change(self, s, phy__predictor=predictor)
            i = Interval(s)
            self.assertTrue(happens(lambda: i.frames("frames_acknowledged") > 50))
        change(self, s, link__retransmission_delay_ms=8)
        self.assertTrue(happens(lambda: Interval(s).terminal.radio.horizon == 12))
        change(self, s, link__combining="off")
        self.assertFalse(s.status["terminal"].radio.combining)
        change(self, s, link__combining="on", link__retransmission_delay_ms=2)
        self.assertTrue(happens(lambda: Interval(s).terminal.radio.horizon == 3))
        self.assertEqual(s.status["terminal"].radio.lock_losses, losses)

    def test_4_the_channel_changes_without_losing_lock(self):
        s = self.settings
        change(self, s, channel__snr_db=25, channel__model="awgn")
        s.read()
        losses = s.status["terminal"].radio.lock_losses
        for values in (
            {"channel.model": "flat", "channel.speed_kmh": "50"},
            {"channel.speed_kmh": "5"},
            {"channel.model": "epa"},
            {"channel.shadowing": "3"},
            {"channel.model": "awgn", "channel.shadowing": "off"},
        ):
            s.set(values)
            self.assertEqual(s.read_back(values), {})
            i = Interval(s)
            self.assertTrue(happens(lambda: i.terminal_count("slots") > 60))
        self.assertEqual(Interval(s).terminal.radio.lock_losses, losses)
        self.assertTrue(s.status["terminal"].radio.locked)

    def test_5_a_blackout_loses_lock_and_the_receiver_locks_again(self):
        s = self.settings
        change(self, s, channel__snr_db=25, channel__model="awgn", link__modulation=4)
        before = Interval(s).terminal.radio
        change(self, s, channel__blackout="on")
        self.assertTrue(
            happens(lambda: Interval(s).terminal.radio.lock_losses > before.lock_losses)
        )
        self.assertFalse(s.status["terminal"].radio.locked)
        change(self, s, channel__blackout="off")
        self.assertTrue(happens(lambda: Interval(s).terminal.radio.locks > before.locks))
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("frames_acknowledged") > 100))
        # Ends by itself; too short to lose lock, long enough to lose frames.
        i = Interval(s)
        s.set({"channel.blackout": "4"})
        self.assertEqual(s.read_back({"channel.blackout": "off"}, 10), {})
        self.assertTrue(happens(lambda: i.frames("frames_failed") > 0))

    def test_6_what_cannot_change_says_so_and_nothing_changes(self):
        for arguments, words in (
            (("scheduling.method=best",), "one terminal"),
            (("link.packing=off",), "both ends"),
            (("seed=4",), "first sample"),
            (("link.bins=3", "channel.model=moon"), "awgn"),
            (("air.speed=1",), "pace"),
        ):
            done = openwip("set", "--name", CELL, *arguments)
            self.assertEqual(done.returncode, 2, done)
            self.assertIn(words, done.stderr)
            self.assertEqual(len(done.stderr.splitlines()), 1)
        for process, tree in (
            ("base", {"uplink": {"kbps": 1}}),
            ("base", {"link": {"combining": "off"}}),
            ("terminal", {"link": {"bins": 3}}),
            ("air", {"air": {"speed": 2}}),
            ("air", {"channel": {"snr_db": 9, "speed_kmh": 900}}),
        ):
            with self.assertRaises(control.Refused):
                self.settings.controls[process].configure(tree)
        self.settings.read()
        self.assertEqual(self.settings.value("channel.snr_db"), "25")

    def test_7_the_right_key_sees_the_cell_from_outside_and_a_wrong_one_nothing(self):
        subprocess.run(["ip", "netns", "add", f"{CELL}-far"], check=True)
        self.addCleanup(subprocess.run, ["ip", "netns", "del", f"{CELL}-far"])
        run = lambda *a: subprocess.run(a, check=True)
        run("ip", "link", "add", f"{CELL}a", "type", "veth", "peer", "name", f"{CELL}b")
        self.addCleanup(
            subprocess.run, ["ip", "link", "del", f"{CELL}a"], stderr=subprocess.DEVNULL
        )
        run("ip", "link", "set", f"{CELL}b", "netns", f"{CELL}-far")
        run("ip", "addr", "add", "198.18.7.1/30", "dev", f"{CELL}a")
        run("ip", "link", "set", f"{CELL}a", "up")
        run("ip", "-n", f"{CELL}-far", "addr", "add", "198.18.7.2/30", "dev", f"{CELL}b")
        run("ip", "-n", f"{CELL}-far", "link", "set", f"{CELL}b", "up")
        address = f"tcp://198.18.7.1:{self.address.rsplit(':', 1)[1]}"

        def far(*arguments):
            return subprocess.run(
                [
                    "ip",
                    "netns",
                    "exec",
                    f"{CELL}-far",
                    *map(
                        str, (pathlib.Path(__file__).resolve().parents[2] / "openwip", *arguments)
                    ),
                ],
                capture_output=True,
                text=True,
                env=os.environ | {"OPENWIP_NO_BUILD": "1"},
                timeout=60,
            )

        done = far("get", "--remote", address, "--keys", self.keys, "channel.snr_db")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"channel\.snr_db +\d+ dB")
        done = far("set", "--remote", address, "--keys", self.keys, "link.bins=9")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.settings.read()
        self.assertEqual(self.settings.value("link.bins"), "9")
        (self.strange / "server.public").write_text((self.keys / "server.public").read_text())
        done = far("set", "--remote", address, "--keys", self.strange, "link.bins=2")
        self.assertEqual(done.returncode, 2)
        self.assertIn("does not answer", done.stderr)
        self.settings.read()
        self.assertEqual(self.settings.value("link.bins"), "9")


if __name__ == "__main__":
    unittest.main()
