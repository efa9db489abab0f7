# SPDX-License-Identifier: GPL-3.0-or-later
"""The monitor and the rest of OpenWIP read the same out of one run record."""

import pathlib
import random
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "support"), str(HERE.parent / "cli")]
from openwip_schema import telemetry_pb2 as pb

import same_meaning
from openwip_cli.figures.meaning import DELAY_PARTS
from recording import RecordWorld

RNG = random.Random(11)
SECONDS = 6


class OneRun(RecordWorld):
    """The record of a run with losses on the way, feedback that was lost, drops, a medium that is
    behind and a receiver without lock."""

    def setUp(self):
        super().setUp()
        self.reader.on_refused = self.file.refuse
        for slot in range(0, SECONDS * 1500, 15):
            self.slot(slot)
            if slot % 150 == 0:
                self.status(slot)
            if slot % 1500 == 0:
                self.others(slot)
        self.reader.take("base", [b"slot", b"\xff"])
        later = pb.Telemetry(version=9, sequence=self.recording.sequence["slot", "base"] + 3)
        self.reader.take("base", [b"slot", later.SerializeToString()])
        self.finish()

    def slot(self, slot):
        snr, modulation = (
            [RNG.uniform(-5, 30) for _ in range(25)],
            bytes(RNG.randrange(9) for _ in range(25)),
        )
        reported = [
            bytes(RNG.choice(of) if m else 0 for m in modulation) for of in ((1, 2), (1, 2, 3))
        ]
        skip = slot % 300 == 45
        if slot % 90 != 75:  # else the terminal is silent; at times it is without lock
            measured = (
                {}
                if slot % 450 == 30
                else {"snr_db": snr, "locked": True, "horizon": 3, "predicted_snr_db": snr}
            )
            self.give(
                "slot",
                "terminal",
                skip,
                slot,
                slot_sample={"bits_per_symbol": modulation, "outcome": reported[0]} | measured,
            )
        if slot % 120 != 60:
            self.give(
                "slot",
                "base",
                0,
                slot,
                slot_sample={
                    "predicted_snr_db": [x + RNG.gauss(0, 2) for x in snr],
                    "bits_per_symbol": modulation,
                    "outcome": reported[1],
                    "retransmissions": bytes(25),
                    "user": bytes(25),
                    "queued_packets": 3,
                },
            )
        packets = []
        for n in range(2):
            parts = {f"{p}_ns": RNG.randrange(20_000_000) for p in DELAY_PARTS}
            arrived = slot * 666_667
            packets.append(
                {
                    "number": slot + n,
                    "bytes": 1500,
                    "arrived_ns": arrived,
                    "left_ns": arrived + sum(parts.values()),
                    "uplink": slot % 4 == 3,
                    "dropped": RNG.choice(("", "", "", "queue_full", "lost_frame")),
                    **parts,
                }
            )
        self.give("packet", slot=slot, packets={"packet": packets})

    def status(self, slot):
        n = slot * 7
        self.give(
            "status",
            "base",
            slot=slot,
            mac={
                "role": "base",
                "slot": slot,
                "base": {
                    "payload_bits_acknowledged": 4000 * slot + n % 911,
                    "frames_sent": 25 * slot,
                    "frames_failed": slot // 7,
                    "frames_given_up": slot // 90,
                    "modulation_histogram": [0, *(slot * k + n % 13 for k in range(8))],
                    "retransmission_histogram": [20 * slot, slot, slot // 9],
                },
                "downlink": {
                    "dropped": [
                        {"reason": "queue_full", "count": {"packets": slot // 40}},
                        {"reason": "lost_frame", "count": {"packets": slot // 70}},
                    ]
                },
            },
        )
        self.give(
            "status",
            "terminal",
            slot=slot,
            mac={
                "role": "terminal",
                "slot": slot,
                "radio": {"locked": slot < 3000, "mode": "searching"},
            },
        )

    def others(self, slot):
        self.give(
            "verdict",
            "keeper",
            slot=slot,
            verdict={
                "valid": slot > 1500,
                "goodput_bps": 1e6 + slot / 7,
                "capacity_bps": 3e6 + slot,
            },
        )
        self.give("air", "observer", slot=slot, air={"slots": 1000, "slots_behind": slot // 500})
        self.give(
            "cpu",
            "observer",
            slot=slot,
            cpu={
                "process": [{"name": "a", "cores": 0.1 + slot / 1e5}, {"name": "b", "cores": 0.2}]
            },
        )

    def test_every_figure_is_the_same(self):
        reported = same_meaning.expect(self, self.path)
        self.assertFalse(reported["keeps_pace"])
        self.assertEqual((reported["lock"], reported["counts"][2]), ("NOT LOCKED (searching)", 1))
        self.assertGreater(reported["counts"][1], 10)
        self.assertEqual(
            {x for row in reported["outcome"] for x in row[1:] if x is not None}, {0, 1, 2, 3}
        )
        self.assertGreater(len(reported["prediction_error"]), 300)


if __name__ == "__main__":
    unittest.main()
