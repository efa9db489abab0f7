# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of a record: the figures in its plots, what it says when something is missing, and that
it needs nothing else."""

import base64
import io
import subprocess
import sys
import unittest

import numpy
from matplotlib import image
from openwip_schema import telemetry_pb2 as pb
from report_world import EVERY, SCENARIO, SLOTS, VALID, ReportWorld, Whole, fading

from openwip_cli.messages import telemetry
from openwip_cli.views.run_report import data, plots


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
        self.assertIn("<script>alert(1)</script>", whole.text)  # escaped, it is text
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
