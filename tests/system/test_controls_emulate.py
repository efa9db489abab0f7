# SPDX-License-Identifier: GPL-3.0-or-later
"""Every setting of a running emulated cell: changed, read back, and seen in the counters."""

import os
import unittest

from controls_support import Downlink, Interval, change, dropped, happens
from demo_support import built, openwip
from openwip_cli.commands import settings_command
from openwip_cli.errors import BadInput
from openwip_cli.runs import emulate

CELL = f"c{os.getpid() % 100000}"


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "the emulator is not built")
class EmulatedControls(unittest.TestCase):
    def test_every_control_has_its_effect_and_the_report_tells_of_it(self):
        report = emulate.run(
            {
                "channel.model": "static",
                "channel.snr_db": 30.0,
                "link.modulation": 4,
                "link.bins": 10,
                "channel.prediction_nmse": 0,
                "terminals": 1,
            },
            self.turn_all,
            name=CELL,
        )
        self.assertEqual(report["verdict"]["checks"]["sums"], True, report["verdict"])
        keys = {c["key"] for c in report["changes"]}
        self.assertLessEqual(
            {"link.bins", "channel.blackout", "channel.errors", "uplink.kbps"}, keys
        )
        slots = [c["slot"] for c in report["changes"]]
        self.assertEqual(slots, sorted(slots))
        self.assertTrue(report["capacity"]["settings_changed"])
        self.assertIn("changed by hand", report["capacity"]["how"][-1])

    def turn_all(self, cell):
        s = settings_command.RunningSettings(cell.name, cell.cell.endpoint)
        self.assertEqual(s.kind, "emulate")
        with Downlink(cell):
            self.link(s)
            self.channel(s)
            self.errors(s)
            self.blackout(s)
            self.others(s)
            self.command_line(s)
        return {}

    def link(self, s):
        for bits in (1, 8):
            change(self, s, link__modulation=bits)
            i = Interval(s)
            self.assertTrue(happens(lambda: i.sent()[bits] > 100), i.sent())
            sent = i.sent()
            self.assertEqual(sum(sent), sent[bits], sent)
        change(self, s, link__bins=3)
        i = Interval(s)
        self.assertTrue(
            happens(lambda: i.frames("slots_planned") > 100 and i.frames("frames_sent") > 100)
        )
        self.assertAlmostEqual(i.bins_used(), 3, delta=0.2)
        change(
            self,
            s,
            link__bins=10,
            link__modulation="adaptive",
            link__allocation="static",
            link__switch_table="nmse_0",
        )
        i = Interval(s)
        self.assertTrue(happens(lambda: sum(i.sent()) > 100))

    def channel(self, s):
        change(self, s, link__modulation=4, channel__snr_db=5)
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("frames_failed") > 100))
        self.assertTrue(happens(lambda: abs(i._now()[1].radio.mean_snr_db - 5) < 1.5))
        # From now on no frame is repeated.
        change(self, s, link__max_retransmissions=0, link__combining="off")
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("frames_given_up") > 100))
        change(
            self,
            s,
            link__max_retransmissions=30,
            link__combining="on",
            link__retransmission_delay_ms=16,
        )
        i = Interval(s)
        self.assertTrue(happens(lambda: i.terminal_count("frames_combined") > 20))
        change(
            self,
            s,
            channel__model="flat",
            channel__speed_kmh=90,
            channel__snr_db=16,
            channel__shadowing=3,
            channel__prediction_nmse=0.2,
            link__retransmission_delay_ms=2,
            link__modulation="adaptive",
        )
        i = Interval(s)
        self.assertTrue(happens(lambda: sum(n > 0 for n in i.sent()[1:]) >= 4), i.sent())

    def errors(self, s):
        change(self, s, channel__errors="none")
        # Packets that are on the way were sent before.
        self.assertTrue(happens(lambda: Interval(s).frames("slots_planned") >= 0))
        before = Interval(s)
        self.assertTrue(happens(lambda: before.frames("slots_planned") > 30))
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("frames_acknowledged") > 200))
        self.assertEqual(i.frames("frames_failed"), 0)
        change(self, s, channel__errors="computed")
        self.assertTrue(happens(lambda: i.frames("frames_failed") > 0))

    def blackout(self, s):
        change(
            self,
            s,
            channel__model="static",
            channel__snr_db=30,
            channel__prediction_nmse=0,
            channel__errors="symbols",
        )
        change(self, s, channel__blackout="on")
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("slots_planned") > 100))
        self.assertGreater(i.frames("frames_failed"), 10)
        dark = Interval(s)
        self.assertTrue(happens(lambda: dark.frames("slots_planned") > 100))
        self.assertEqual(dark.frames("frames_acknowledged"), 0)
        change(self, s, channel__blackout="off")
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("frames_acknowledged") > 100))
        # A blackout with a length ends by itself.
        slot = s.set({"channel.blackout": "100"})["air"]
        self.assertEqual(s.read_back({"channel.blackout": "off"}, 10), {})
        s.read()
        self.assertGreaterEqual(s.status["base"].slot, slot + 149)
        self.assertTrue(happens(lambda: i.frames("frames_failed") > 0))

    def others(self, s):
        change(
            self,
            s,
            scheduling__method="proportional_fair",
            uplink__kbps=900,
            uplink__delay_slots=10,
            uplink__loss=0.1,
            uplink__feedback_loss=0.2,
        )
        i = Interval(s)
        self.assertTrue(happens(lambda: i.frames("feedback_missing") > 20))
        change(self, s, wired__loss=1, wired__uplink_delay_ms=20)
        self.assertTrue(happens(lambda: dropped(s, "wired_loss") > 20))
        change(self, s, wired__loss=0, wired__uplink_delay_ms="same")
        change(self, s, delay_injection__mode="adaptive", delay_injection__flows="both")
        change(self, s, uplink__feedback_loss=0, telemetry__base_slot_every=150)

    def command_line(self, s):
        done = openwip("set", "--name", CELL, "link.bins=7", "channel.snr_db=25")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"link\.bins +10 bins -> 7 bins  from slot \d+ ")
        self.assertRegex(done.stdout, r"channel\.snr_db +30 dB -> 25 dB")
        for wrong, names in (
            (("link.bins=26",), "1..25"),
            (("link.bims=3",), "link.bins"),
            (("terminals=2",), "start"),
            (("link.bins=8", "channel.model=moon"), "awgn"),
            (("seed=3",), "seed"),
            (("channel.model=a.h5",), "valid"),
        ):
            done = openwip("set", "--name", CELL, *wrong)
            self.assertEqual(done.returncode, 2, done)
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
            self.assertIn(names, done.stderr)
        done = openwip("get", "--name", CELL, "link.bins", "link.profile")
        self.assertRegex(done.stdout, r"(?m)^link\.bins +7 bins$")
        self.assertRegex(done.stdout, r"link\.profile +wipemu   \(fixed: ")
        # Refused by the process itself, after another one had taken its part.
        with self.assertRaisesRegex(BadInput, "nothing changed"):
            s.set({"link.bins": "9", "channel.model": "no-such-channel"})
        s.read()
        self.assertEqual(s.value("link.bins"), "7")


if __name__ == "__main__":
    unittest.main()
