# SPDX-License-Identifier: GPL-3.0-or-later
"""The meaning of telemetry (figures/meaning.py): every view of one recorded run shows the same."""

import unittest
from types import SimpleNamespace

from hand_made import statuses
from openwip_schema import control_pb2 as control
from openwip_schema import telemetry_pb2 as pb

import recording
from openwip_cli.air import CRC_BITS
from openwip_cli.figures import link_counts, meaning, top_figures
from openwip_cli.figures.facts import Heard
from openwip_cli.measure import verdict_monitor
from openwip_cli.messages import telemetry
from openwip_cli.views.run_report import data

SECONDS = 4


class OneRun(recording.RecordWorld):
    """Statuses of a second each, 800 kbit/s with 4 bits per symbol, given to the record, to top and
    to the verdict so far."""

    def setUp(self):
        super().setUp()
        self.figures, self.so_far = top_figures.Figures(), verdict_monitor.SoFar("demo")
        for second in range(1, SECONDS + 1):
            s = statuses(second)
            self.so_far.take(s)
            message = self.give("status", slot=s.base.slot, wall_ns=second * 10**9, mac=s.base)
            self.figures.take(telemetry.Message("base", "status", message, 0, second * 10**9))
        self.finish()

    def test_goodput_and_capacity_are_those_of_the_verdict_so_far_on_the_page_and_in_top(self):
        v = self.so_far.verdict(Heard(), 0.0)
        self.assertAlmostEqual(v.goodput_bps, 800_000, delta=1)
        goodput, capacity = data.link(self.read())
        self.assertEqual(len(goodput.y), SECONDS - 1)
        for y in goodput.y:
            self.assertAlmostEqual(y, v.goodput_bps, delta=1)
        for y in capacity.y:
            self.assertEqual(y, v.capacity_bps)
        link = self.figures.link()
        self.assertAlmostEqual(link["goodput_bps"], v.goodput_bps, delta=1)
        settings = meaning.link_settings(statuses(1).base.effective_yaml)
        self.assertEqual(
            meaning.link_capacity(settings, link["modulation_histogram"]), v.capacity_bps
        )
        self.assertAlmostEqual(
            meaning.share(v.goodput_bps, v.capacity_bps),
            v.goodput_bps / (1500 * 10 * (108 * 4 - 24)),
        )


class Words(unittest.TestCase):
    def test_settings_that_are_none_have_no_capacity(self):
        for text in (
            "",
            "link: 3",
            "link: [",
            "- 1",
            "link: {bins: many, modulation: 4}",
            "link: {bins: 10}",
        ):
            self.assertIsNone(meaning.link_capacity(meaning.link_settings(text), [0, 1]), text)

    def test_another_link_does_not_have_the_capacity_of_ofdm(self):
        for kind, has in (("ofdm", True), ("umts", False), ("wlan", False), ("wire", False)):
            self.assertEqual(
                meaning.link_capacity({"kind": kind, "bins": 10, "modulation": 2}, [0] * 9)
                is not None,
                has,
                kind,
            )

    def test_what_nothing_was_sent_with_has_no_share(self):
        adaptive = {"bins": 10, "modulation": "adaptive"}
        self.assertEqual(meaning.link_capacity(adaptive, [0] * 9), 0)
        self.assertIsNone(meaning.share(0.0, 0))
        self.assertIsNone(meaning.share(1e6, None))

    def test_the_ideal_profile_pays_no_crc(self):
        both = [
            meaning.link_capacity({"bins": 1, "modulation": 1, "profile": p}, [0, 1])
            for p in ("radio", "wipemu")
        ]
        self.assertEqual(both, [1500 * (108 - CRC_BITS), 1500 * 108])

    def test_drops_are_those_that_there_were(self):
        d = control.Direction(
            dropped=[
                control.Drop(reason="queue_full", count=control.PacketsBytes(packets=3, bytes=9)),
                control.Drop(reason="lost_frame"),
            ]
        )
        self.assertEqual(meaning.drops(d), {"queue_full": 3})

    def test_a_medium_keeps_pace_up_to_the_share_that_a_verdict_allows(self):
        for behind, late, keeps in ((0, 0, True), (10, 0, True), (11, 0, False), (0, 1, False)):
            self.assertEqual(
                meaning.keeps_pace(SimpleNamespace(slots=1000, slots_behind=behind, late=late)),
                keeps,
            )

    def test_lock_is_a_word_and_its_losses_are_named_by_the_schema(self):
        radio = control.MacStatus().radio
        radio.locked, radio.mode, radio.losses_gap = False, "searching", 2
        self.assertEqual(meaning.lock(radio), "NOT LOCKED (searching)")
        losses = link_counts.counts_of(radio, "losses_")
        self.assertGreater(len(losses), 2)
        self.assertEqual({n: v for n, v in losses.items() if v}, {"losses_gap": 2})

    def test_the_parts_of_a_delay_are_fields_of_the_schema_and_add_up(self):
        r = pb.PacketRecord(
            arrived_ns=1000,
            left_ns=1015,
            **{f"{p}_ns": n for n, p in enumerate(meaning.DELAY_PARTS, 1)},
        )
        self.assertEqual(
            meaning.total_delay_ns(r), sum(getattr(r, f"{p}_ns") for p in meaning.DELAY_PARTS)
        )
        times = {
            f.name
            for f in pb.PacketRecord.DESCRIPTOR.fields
            if f.name.endswith("_ns") and f.label != f.LABEL_REPEATED
        }
        self.assertEqual(
            times,
            {f"{p}_ns" for p in meaning.DELAY_PARTS}
            # the last one is the queue's own count, beside the parts
            | {"arrived_ns", "left_ns", "wired_ns", "sojourn_ns"},
        )


if __name__ == "__main__":
    unittest.main()
