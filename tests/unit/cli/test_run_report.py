# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a record: the figures in its plots, what it says when something is missing, and that
it needs nothing else."""

import base64
import html.parser
import io
import math
import subprocess
import sys
import unittest
from unittest import mock

import numpy
from matplotlib import image
from openwip_schema import telemetry_pb2 as pb

from openwip_cli.messages import telemetry
from openwip_cli.records.run_record import RunRecord
from openwip_cli.views.run_report import data, page, plots
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


class Figures(ReportWorld):
    """The data of a picture, before it is drawn."""

    def test_the_prediction_error_is_predicted_less_measured_in_the_same_slot(self):
        self.give_slots(error_db=1.5)
        self.finish()
        slots = data.Slots(self.read())
        self.assertEqual(slots.every(), EVERY)
        _, error = slots.error_pairs()
        self.assertEqual(error.shape, (SLOTS // EVERY, 25))
        self.assertLess(abs(error - 1.5).max(), 1e-5)

    def test_a_heat_map_keeps_time_bins_and_means(self):
        self.give_slots()
        self.finish()
        heat = data.Slots(self.read()).measured()
        self.assertEqual(heat.values.shape, (25, data.COLUMNS))
        for column in (0, 100, data.COLUMNS - 1):
            middle = (heat.edges[column] + heat.edges[column + 1]) / 2 * 1500
            for b in (0, 12, 24):
                self.assertLess(abs(heat.values[b, column] - fading(middle, b)), 0.2)

    def test_a_receiver_without_lock_measured_nothing(self):
        for s in range(10):
            self.give(
                "slot",
                "terminal",
                slot=s,
                slot_sample={"snr_db": [float(s)] * 25, "locked": s >= 5},
            )
        self.finish()
        values = data.Slots(self.read()).measured().values
        self.assertTrue(numpy.isnan(values[:, :5]).all())
        self.assertEqual(values[0, 5:].tolist(), [5, 6, 7, 8, 9])

    def test_of_several_outcomes_the_worst_is_shown(self):
        t = numpy.array([0.0, 0.1, 10.0, 10.1])
        heat = data.reduced(t, numpy.array([[3.0], [1.0], [1.0], [0.0]]), "max", most=2)
        self.assertEqual(heat.values.tolist(), [[3.0, 1.0]])

    def test_goodput_and_capacity_come_from_the_counters(self):
        self.give_status()
        self.finish(scenario=SCENARIO)
        goodput, capacity = data.link(self.read())
        self.assertTrue(numpy.allclose(goodput.y, 2000 * 1500))
        self.assertTrue(numpy.allclose(capacity.y, 1500 * 25 * (108 * 2 - 24)))

    def test_a_fixed_modulation_has_one_capacity(self):
        self.give_status()
        self.finish(scenario=SCENARIO | {"link": SCENARIO["link"] | {"modulation": 8}})
        _, capacity = data.link(self.read())
        self.assertTrue(numpy.allclose(capacity.y, 1500 * 25 * (108 * 8 - 24)))

    def test_the_capacity_follows_settings_that_are_changed_during_the_run(self):
        """Every status says what the base station runs with: 25 bins at 4-QAM, then 10, then
        256-QAM."""
        for s in range(0, 4500, 150):
            bins, modulation = (25, 2) if s <= 1500 else (10, 2) if s <= 3000 else (10, 8)
            self.give(
                "status",
                slot=s,
                wall_ns=self.wall(s),
                mac={
                    "slot": s,
                    "effective_yaml": (
                        f"link:\n  bins: {bins}\n  modulation: {modulation}\n  profile: wipemu\n"
                    ),
                    "base": {
                        "payload_bits_acknowledged": s * 2000,
                        "modulation_histogram": [0, 0, s, 0, 0, 0, 0, 0, 0],
                    },
                },
            )
        self.finish(scenario=SCENARIO)
        _, capacity = data.link(self.read())
        slots = numpy.round(capacity.t * 1500)
        for low, high, bins, bits in ((0, 1500, 25, 2), (1500, 3000, 10, 2), (3000, 4500, 10, 8)):
            then = capacity.y[(slots > low) & (slots <= high)]
            self.assertGreater(len(then), 5)
            self.assertTrue(numpy.allclose(then, 1500 * bins * 108 * bits), (low, then))

    def test_the_parts_of_the_delay_add_up_and_drops_are_apart(self):
        self.give_packets()
        self.finish()
        child = data.packets(self.read())
        t, parts, total = data.delays(child)
        self.assertEqual(len(t), 990)
        self.assertTrue(numpy.allclose(sum(parts.values()), total))
        self.assertEqual(data.drops(child), {"queue_full": 10})
        _, means = data.stacked(t, parts)
        self.assertTrue(numpy.allclose(means["queue"], 5.0))

    def test_messages_of_publishers_that_count_no_slots_get_the_air_time_of_their_wall_clock(self):
        self.give_status()
        self.give("air", "observer", wall_ns=self.wall(750), air={})
        self.finish()
        record = self.read()
        self.assertAlmostEqual(
            data.Times(record).of(record.table("air", "observer"))[0], 0.5, places=6
        )

    def test_constellations_are_sorted_by_modulation(self):
        self.give(
            "receiver",
            "terminal",
            receiver={
                "points": bytes([64, 0, 0, 64, 192, 192]),
                "symbols_of_bin": bytes([1, 2] + [0] * 23),
                "bits_per_symbol": bytes([3, 1] + [0] * 23),
            },
        )
        # does not fit together
        self.give(
            "receiver", "terminal", receiver={"points": bytes(5), "symbols_of_bin": bytes([9] * 25)}
        )
        self.finish()
        found = data.constellations(self.read())
        self.assertEqual({k: v.tolist() for k, v in found.items()}, {1: [1j, -1 - 1j], 3: [1 + 0j]})


class Terminals(ReportWorld):
    """Terminal u has the bins b with b % n == u and 10 + u dB, and gets u + 1 times what the first
    gets."""

    def give_terminals(self, n):
        whose = bytes(b % n for b in range(25))
        for s in range(0, SLOTS, 30):
            for u in range(n):
                mine = [b % n == u for b in range(25)]
                self.give(
                    "slot",
                    slot=s,
                    user=u,
                    slot_sample={
                        "predicted_snr_db": [12.0 + u] * 25,
                        "bits_per_symbol": bytes(m * (u % 8 + 1) for m in mine),
                        "user": whose,
                    },
                )
                self.give(
                    "slot",
                    "terminal",
                    slot=s,
                    user=u,
                    slot_sample={
                        "snr_db": [10.0 + u] * 25,
                        "true_snr_db": [20.0 + u] * 25,
                        "locked": True,
                        "outcome": bytes(2 * m if u == 0 else m for m in mine),
                    },
                )
        for s in range(0, SLOTS, 150):
            users = [
                {
                    "slot": s,
                    "base": {
                        "payload_bits_acknowledged": s * 100 * (u + 1),
                        "frames_sent": s,
                        "frames_failed": s // 10,
                    },
                    "downlink": {"queued": {"packets": u}},
                    "radio": {"mean_snr_db": 10 + u},
                }
                for u in range(n)
            ]
            whole = {
                "slot": s,
                "base": {"payload_bits_acknowledged": s * 100 * n * (n + 1) // 2},
                "effective_yaml": "link: {bins: 25, modulation: 2}",
                "users": users if n > 1 else [],
            }
            self.give("status", slot=s, wall_ns=self.wall(s), mac=whole)
            self.give(
                "status",
                "terminal",
                slot=s,
                wall_ns=self.wall(s),
                mac={"slot": s, "users": users if n > 1 else []},
            )
        self.give(
            "packet",
            packets={
                "packet": [
                    {
                        "number": i,
                        "user": i % n,
                        "arrived_ns": i * 10**6,
                        "left_ns": i * 10**6 + (1 + i % n) * 10**6,
                    }
                    for i in range(100 * n)
                ]
            },
        )
        self.finish(report=VALID)

    def test_of_each_bin_the_terminal_that_has_it_is_shown(self):
        for n in (2, 5):
            with self.subTest(terminals=n):
                self.setUp()
                self.give_terminals(n)
                slots = data.Slots(self.read())
                self.assertEqual(slots.users, n)
                self.assertEqual(slots.every(), 30)
                self.assertEqual(
                    slots.allocation().values[:, 3].tolist(), [b % n for b in range(25)]
                )
                self.assertEqual(
                    slots.predicted().values[:, 3].tolist(), [12 + b % n for b in range(25)]
                )
                self.assertEqual(
                    slots.true().values[:, 3].tolist(), [20 + b % n for b in range(25)]
                )
                self.assertEqual(
                    slots.modulation().values[:, 3].tolist(), [b % n + 1 for b in range(25)]
                )
                self.assertEqual(
                    slots.outcome().values[:, 3].tolist(),
                    [3 if b % n == 0 else 1 for b in range(25)],
                )
                self.assertTrue((slots.error().values == 2).all())
                self.assertEqual(
                    [slots.measured(u).values[0, 0] for u in range(n)], [10 + u for u in range(n)]
                )

    def test_goodput_delay_and_queue_are_told_by_terminal(self):
        self.give_terminals(5)
        record = self.read()
        terminals = data.Terminals(record)
        self.assertEqual(terminals.n, 5)
        for u in range(5):
            self.assertTrue(numpy.allclose(terminals.goodput(u).y, 1500 * 100 * (u + 1)))
            self.assertAlmostEqual(terminals.mean_goodput(u), 1500 * 100 * (u + 1))
            self.assertTrue((terminals.queue(u).y == u).all())
            self.assertEqual(terminals.mean_snr_db(u), 10 + u)
            self.assertTrue(numpy.allclose(data.delays(data.packets(record), u)[2], 1 + u))

    def test_delays_and_drops_are_of_the_downlink(self):
        self.give(
            "packet",
            packets={
                "packet": [
                    {
                        "uplink": i % 2 == 1,
                        "left_ns": (1 + i % 2) * 10**6,
                        "dropped": "rlc_given_up" if i > 5 else "",
                    }
                    for i in range(10)
                ]
            },
        )
        self.finish(report=VALID)
        child = data.packets(self.read())
        self.assertEqual(data.delays(child)[2].tolist(), [1, 1, 1])
        self.assertEqual(data.drops(child), {"rlc_given_up": 2})

    def test_the_page_has_a_curve_and_a_row_for_each_of_them(self):
        for n, maps in ((1, 1), (2, 2), (5, 5), (25, 8)):
            with self.subTest(terminals=n):
                self.setUp()
                self.give_terminals(n)
                drawn = plots.png if n == 2 else lambda figure: "AAAA"  # pixels take the time
                with mock.patch.object(plots, "png", drawn):
                    text = Whole(self.page()).text
                # in the list of contents, too
                self.assertEqual(text.count("Measured SNR"), 2 * maps)
                for title in (
                    "Allocation",
                    "Goodput of each terminal",
                    "Packet delay of each terminal",
                    "Queue of each terminal",
                ):
                    self.assertEqual(title in text, n > 1, title)
                # predicted, of the channel
                self.assertEqual(text.count("Of the terminal that has the bin."), 2 if n > 1 else 0)
                self.assertEqual("17 more terminals are in the record" in text, n == 25)
                if n == 5:
                    self.assertIn(
                        "".join(("5", "0.750", "2850", "10.00", "14.0", "100", "5.00", "5.00")),
                        text.split("\n"),
                    )
                if n == 1:
                    self.assertNotIn("of terminal 1", text)


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


class PageOfARun(ReportWorld):
    SECTIONS = (
        "Measured SNR",
        "Predicted SNR",
        "Prediction error",
        "Modulation",
        "ARQ outcome",
        "Goodput against capacity",
        "Packet delay, split",
        "Packet delay, distribution",
        "Queue",
        "TCP",
        "Constellations",
        "Channel",
        "Real-time health",
        "Processors",
        "Events",
        "What was lost",
        "Configuration",
    )

    def test_a_whole_record_gives_every_plot_and_nothing_is_fetched(self):
        self.give_all()
        self.finish(report=VALID, scenario=SCENARIO, seed=3, effective={"base": "bins: 25\n"})
        text = self.page()
        whole = Whole(text)
        self.assertTrue(whole.text.split()[0:1] and "VALID" in whole.text)
        for title in self.SECTIONS:
            self.assertIn(title, whole.text)
        self.assertNotIn("Not in this record", whole.text)
        pictures = [f for f in whole.fetched if f.startswith("data:image/png;base64,")]
        self.assertEqual(pictures, whole.fetched)
        self.assertEqual(len(pictures), 15)
        for p in pictures:
            picture = image.imread(io.BytesIO(base64.b64decode(p.split(",")[1])), format="png")
            self.assertGreater(picture.std(), 0.01)
        self.assertNotIn("script", whole.tags)
        self.assertIn("<script>alert(1)</script>", whole.text)  # as text
        self.assertNotIn("://", text.replace("data:image", ""))

    def test_the_verdict_comes_before_any_figure(self):
        self.give_status()
        self.finish(
            report={
                **VALID,
                "verdict": {
                    "valid": False,
                    "reasons": ["late: 3 slots missed their time"],
                    "checks": {"late_slots": False},
                },
            },
            scenario=SCENARIO,
        )
        text = Whole(self.page()).text
        self.assertLess(text.index("late: 3 slots missed their time"), text.index("TCP goodput"))
        self.assertIn("✗ FAILED: late_slots", text)
        self.assertIn("Of a run that is INVALID. Both of link payload", text)
        self.assertIn("90.0% of 5.00 Mbit/s; run INVALID", text)

    def test_without_a_verdict_there_is_no_throughput_and_no_delay(self):
        self.give_all()
        self.finish(report={}, scenario=SCENARIO)
        text = Whole(self.page()).text
        self.assertIn("NO VERDICT", text)
        self.assertEqual(text.count("Not shown: the run has no verdict"), 4)
        for word in ("Mbit/s", "TCP goodput", "p99"):
            self.assertNotIn(word, text)

    def test_an_empty_record_says_what_is_missing(self):
        self.finish(report=VALID)
        text = Whole(self.page()).text
        self.assertGreaterEqual(text.count("Not in this record"), 12)
        self.assertIn("Nothing was lost", text)

    def test_what_was_lost_is_said(self):
        self.give("slot", slot=5, slot_sample={})
        self.give("slot", slot=9, skip=7, slot_sample={})
        self.reader.take("base", [b"slot", b"\xff"])
        self.finish(report=VALID)
        text = Whole(self.page()).text
        self.assertIn("7 messages were lost", text)
        self.assertIn("slot of base: 7 messages before slot 9", text)
        self.assertIn("1 messages did not parse", text)

    def test_values_that_are_none_never_crash(self):
        nan, huge = float("nan"), 3e38
        for s in range(4):
            self.give(
                "slot",
                slot=s,
                slot_sample={"predicted_snr_db": [nan] * 25, "bits_per_symbol": b"\xff" * 25},
            )
            self.give(
                "slot",
                "terminal",
                slot=s,
                slot_sample={"snr_db": [huge, nan, -huge] + [0.0] * 22, "outcome": b"\x09" * 25},
            )
            # The reader refuses such a slot; a record may hold it.
            self.file.add(
                telemetry.Message(
                    "base",
                    "status",
                    pb.Telemetry(sequence=s + 1, version=1, slot=-1, mac={"slot": 0}),
                    0,
                    0,
                )
            )
            self.give(
                "receiver",
                "terminal",
                receiver={"channel": [0.0] * 1000, "symbols_of_bin": b"\xff" * 25},
            )
            self.give("packet", packets={"packet": [{"dropped": "a"}]})
            self.give("air", "observer", air={"real_time_factor": nan})
            self.give("cpu", "observer", cpu={"process": [{"name": "x", "cores": nan}]})
            self.give("event", event={"severity": 0, "reason": ""})
        self.finish(report=VALID)
        self.assertIn("VALID", Whole(self.page()).text)


class Command(ReportWorld):
    def run_report(self, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "openwip_cli", "report", *arguments],
            capture_output=True,
            text=True,
        )

    def test_it_writes_beside_the_record_and_refuses_what_is_none(self):
        self.give_slots()
        self.finish(report=VALID)
        done = self.run_report(str(self.path))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("VALID", (self.folder / "run.html").read_text())
        self.path.write_bytes(self.path.read_bytes()[:-5])
        for arguments in (
            [str(self.path)],
            [str(self.folder / "absent.h5")],
            [],
            [str(self.path), "--out", str(self.folder)],
            [str(self.path), "--out", "/absent/x.html"],
            [str(self.path), "--out", str(self.path)],
        ):
            done = self.run_report(*arguments)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr)


class Colours(unittest.TestCase):
    @staticmethod
    def lightness(colour):
        rgb = numpy.array(plots.colors.to_rgb(colour))
        linear = numpy.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        y = linear @ (0.2126, 0.7152, 0.0722)
        return 116 * numpy.cbrt(y) - 16

    def test_outcomes_differ_without_any_colour_vision(self):
        light = sorted(self.lightness(c) for _, c in plots.OUTCOMES)
        self.assertGreater(min(numpy.diff(light)), 5)

    def test_the_scale_of_modulation_rises_in_lightness(self):
        scale = plots.matplotlib.colormaps["cividis"](numpy.linspace(0, 1, 8))
        self.assertTrue((numpy.diff([self.lightness(c) for c in scale]) > 5).all())


if __name__ == "__main__":
    unittest.main()
