# SPDX-License-Identifier: GPL-3.0-or-later
"""A world for tests of the page of a record: a run with known fading, packets and counts."""

import html.parser
import math

import numpy

from openwip_cli.records.run_record import RunRecord
from openwip_cli.views.run_report import page
from recording import RecordWorld

SLOTS = 3000
EVERY = 3
VALID = {
    "verdict": {"valid": True, "reasons": [], "checks": {"pacing": True, "sums": True}},
    "tcp": {"goodput_bps": 4.5e6},
    "capacity": {"tcp_payload_bps": 5e6},
    "link": {"frame_error_rate": 0.01, "frames_failed": 10, "frames_sent": 1000},
}
SCENARIO = {"link": {"bins": 25, "modulation": "adaptive", "profile": "radio"}, "seed": 3}


def fading(slot, b):
    """SNR of a bin, dB: something that moves."""
    return 15 + 8 * math.sin(slot / 300 + b / 4)


class ReportWorld(RecordWorld):
    """A scripted run of two seconds: two SNRs apart by a known error, packets with known parts."""

    def give_slots(self, error_db=0.0):
        for s in range(0, SLOTS, EVERY):
            snr = [fading(s, b) for b in range(25)]
            bits = bytes(min(8, max(1, int(x / 3))) for x in snr)
            failed = bytes(2 if (s // EVERY + b) % 40 == 0 else 1 for b in range(25))
            self.give(
                "slot",
                slot=s,
                wall_ns=self.wall(s),
                slot_sample={
                    "predicted_snr_db": [x + error_db for x in snr],
                    "bits_per_symbol": bits,
                    "queued_packets": s % 50,
                },
            )
            self.give(
                "slot",
                "terminal",
                slot=s,
                wall_ns=self.wall(s),
                slot_sample={"snr_db": snr, "true_snr_db": snr, "outcome": failed, "locked": True},
            )

    @staticmethod
    def wall(slot):
        return 10**9 + int(slot / 1500 * 1e9)

    def give_status(self):
        for s in range(0, SLOTS, 150):
            self.give(
                "status",
                slot=s,
                wall_ns=self.wall(s),
                mac={
                    "slot": s,
                    "base": {
                        "payload_bits_acknowledged": s * 2000,
                        "modulation_histogram": [0, 0, s * 25, 0, 0, 0, 0, 0, 0],
                    },
                    "downlink": {"queued": {"packets": s % 7}},
                },
            )

    def give_packets(self):
        for n in range(0, 1000, 50):
            self.give(
                "packet",
                packets={
                    "packet": [
                        {
                            "number": i,
                            "bytes": 1500,
                            "arrived_ns": i * 2_000_000,
                            "left_ns": i * 2_000_000 + 15_000_000,
                            "queue_ns": 5_000_000,
                            "scheduling_ns": 4_000_000,
                            "air_ns": 3_000_000,
                            "retransmission_ns": 2_000_000,
                            "reordering_ns": 1_000_000,
                            "dropped": "queue_full" if i % 100 == 99 else "",
                        }
                        for i in range(n, n + 50)
                    ]
                },
            )

    def give_the_rest(self):
        rng = numpy.random.default_rng(1)
        for s in range(0, SLOTS, 150):
            points = (
                64 * (rng.choice([-0.7, 0.7], (2 * 2 * 108,)) + 0.05 * rng.standard_normal(432))
            ).astype("i1")
            self.give(
                "receiver",
                "terminal",
                slot=s,
                wall_ns=self.wall(s),
                receiver={
                    "points": points.tobytes(),
                    "symbols_of_bin": bytes([108, 108] + [0] * 23),
                    "bits_per_symbol": bytes([2, 2] + [0] * 23),
                    "channel": rng.standard_normal(1000).tolist(),
                },
            )
            self.give(
                "air",
                "observer",
                wall_ns=self.wall(s),
                air={
                    "real_time_factor": 1.0,
                    "pacing_median_us": 30.0,
                    "pacing_p99_us": 100.0,
                    "pacing_max_us": 900.0,
                    "pacing_limit_us": 10000.0,
                },
            )
            self.give(
                "cpu",
                "observer",
                wall_ns=self.wall(s),
                cpu={
                    "process": [{"name": f"p{i}", "cores": 0.05 * (i + 1)} for i in range(11)],
                    "pressure_percent": 5.0,
                    "cores": 2,
                },
            )
            self.give(
                "tcp",
                "observer",
                wall_ns=self.wall(s),
                tcp={
                    "flow": [
                        {
                            "station": "base",
                            "local": "10.42.0.1:5201",
                            "remote": "10.42.0.2:40000",
                            "cwnd_segments": 10 + s // 150,
                            "rtt_ms": 15.0,
                            "rto_ms": 210.0,
                            "bytes_acknowledged": s * 500,
                            "ssthresh_segments": 2**31 - 1,
                        }
                    ]
                },
            )
        self.give(
            "event",
            slot=1500,
            wall_ns=self.wall(1500),
            event={
                "severity": 1,
                "source": "base",
                "kind": "setting",
                "reason": "link.bins = 10 <script>alert(1)</script>",
            },
        )

    def give_all(self):
        self.give_slots()
        self.give_status()
        self.give_packets()
        self.give_the_rest()

    def page(self):
        with RunRecord(self.path) as record:
            return page.Page(record).html()


class Whole(html.parser.HTMLParser):
    """Text, and everything that a browser would fetch."""

    def __init__(self, text):
        super().__init__()
        self.fetched, self.tags, self.text = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.fetched += [
            v
            for k, v in attributes
            if k in ("src", "href", "data", "srcset") and not v.startswith("#")
        ]

    def handle_data(self, text):
        self.text += text
