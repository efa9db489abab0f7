# SPDX-License-Identifier: GPL-3.0-or-later
"""openwip channel: what the files hold, against theory, and what is left of a command that ends."""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import h5py
import numpy
from scipy.special import j0

from channel_support import BUILD, PROGRAM, TOP, TraceCase
from openwip_cli.channel import record as channel_record
from openwip_cli.errors import BadInput


class Traces(TraceCase):
    # --- what is in a trace ---

    def test_layout_is_the_documented_one(self):
        with h5py.File(self.trace, "r") as f:
            self.assertEqual(f["snr_db"].shape, (90000, 25))
            self.assertEqual(f["snr_db"].dtype, numpy.float32)
            a = dict(f.attrs)
            self.assertEqual(
                (a["slots_per_second"], a["bins"], a["version"], a["seed"]), (1500, 25, 1, 4)
            )
            self.assertEqual(
                a["format"].decode() if isinstance(a["format"], bytes) else a["format"],
                "openwip-snr-trace",
            )
            self.assertIn("taps", str(a["definition"]))
            self.assertAlmostEqual(a["speed_kmh"], 75, places=3)
            p = f["predicted_snr_db"]
            self.assertEqual(p.shape, (90000, 25))
            self.assertEqual((p.attrs["horizon_slots"], p.attrs["nmse"]), (3, 0.1))

    def test_fading_is_rayleigh_with_the_autocorrelation_of_clarke(self):
        with h5py.File(self.trace, "r") as f:
            g = 10 ** (f["snr_db"][:, 0].astype(float) / 10)
            predicted = 10 ** (f["predicted_snr_db"][:, 0].astype(float) / 10)
        m = g.mean()
        self.assertAlmostEqual(10 * math.log10(m), 13, delta=0.3)
        # Independent about every coherence time: some 12000 of 90000 values. Kolmogorov at 1e-4:
        # 2.2.
        x = numpy.sort(g / m)
        distance = numpy.abs(1 - numpy.exp(-x) - (numpy.arange(len(x)) + 0.5) / len(x)).max()
        self.assertLess(distance * math.sqrt(12000), 2.2)
        d = g - m
        for lag in (1, 3, 6, 12, 24):
            r = (d[:-lag] * d[lag:]).mean() / (d * d).mean()
            self.assertAlmostEqual(
                r, j0(2 * math.pi * 125.1 * lag / 1500) ** 2, delta=0.05, msg=lag
            )
        self.assertAlmostEqual(((g - predicted) ** 2).mean() / (g * g).mean(), 0.1, delta=0.01)
        # Unbiased: in every tenth of the predictions the truth is what was predicted, on average.
        for part in numpy.array_split(numpy.argsort(predicted), 10):
            self.assertAlmostEqual(g[part].mean() / predicted[part].mean(), 1, delta=0.1)

    def test_bins_are_correlated_as_the_delays_say(self):
        file = self.file("jakes.h5")
        self.command("render", "jakes", "-o", file, "--duration", "120", "--shadowing", "off")
        taps = numpy.array(
            [
                (0, -5.7),
                (200, -7.6),
                (600, -4.4428),
                (800, -13.4),
                (1200, -13.5793),
                (1400, -14.2371),
                (1600, -14.4794),
                (1800, -16.9543),
                (2000, -20.0164),
                (2200, -24.3),
            ]
        )
        p = 10 ** (taps[:, 1] / 10)
        p /= p.sum()
        with h5py.File(file, "r") as f:
            g = 10 ** (f["snr_db"][:].astype(float) / 10)
        g /= g.mean()
        apart = numpy.arange(20)[:, None] - numpy.arange(20)
        for bins in (0, 1, 3, 8):
            hz = 1e4 * (apart + 20 * bins)
            expected = (
                numpy.abs(
                    (p * numpy.exp(2j * numpy.pi * hz[..., None] * taps[:, 0] * 1e-9)).sum(-1)
                )
                ** 2
            ).mean()
            found = ((g[:, : 25 - bins] - 1) * (g[:, bins:] - 1)).mean()
            self.assertAlmostEqual(found, expected, delta=0.06, msg=bins)

    def test_same_seed_same_values_and_other_seed_others(self):
        def values(name, *more):
            self.command("render", "winner", "-o", self.file(name), "--duration", "1", *more)
            with h5py.File(self.file(name), "r") as f:
                return f["snr_db"][:]

        first = values("a.h5", "--seed", "9")
        self.assertTrue((first == values("b.h5", "--seed", "9")).all())
        self.assertFalse((first == values("c.h5", "--seed", "10")).all())

    def test_the_receivers_predictor_is_better_than_the_marks_of_the_text(self):
        file = self.file("predicted.h5")
        out = self.command(
            "render", "jakes", "-o", file, "--duration", "30", "--shadowing", "off", "--predictor"
        )
        self.assertIn("predictor, 3 slots ahead", out)
        about = json.loads(self.command("info", file, "--json"))
        self.assertLess(about["prediction"]["measured_nmse"], 0.0963)
        self.assertGreater(about["prediction"]["measured_nmse"], 0)

    def test_csv_out_and_in_is_the_same_trace(self):
        csv, back = self.file("flat.csv"), self.file("back.h5")
        short = self.file("short.h5")
        self.command("render", "jakes", "-o", short, "--duration", "2", "--prediction-nmse", "0.05")
        self.command("export", short, "--csv", csv)
        self.command("import", csv, "-o", back, "--channel", "again")
        with h5py.File(short, "r") as a, h5py.File(back, "r") as b:
            for key in ("snr_db", "predicted_snr_db"):
                self.assertTrue((a[key][:] == b[key][:]).all(), key)
        self.command("import", csv, "-o", back, "--rate", "750")
        with h5py.File(back, "r") as b:
            self.assertEqual(b["snr_db"].shape, (5999, 25))

    def test_patterns_carry_what_the_slots_carry(self):
        file = self.file("even.h5")
        self.rows("even.csv", 60, 3000)
        self.command("import", self.file("even.csv"), "-o", file)
        out = self.file("even.mm")
        self.command("export", file, "--mahimahi", out, "--bins", "25", "--modulation", "8")
        lines = [int(line) for line in self.lines("even.mm")]
        # 32.4 Mbit/s for two seconds, nothing wrong at 60 dB.
        self.assertEqual(len(lines), 32_400_000 * 2 // 12000)
        self.assertEqual(lines, sorted(lines))
        self.assertEqual(lines[-1], 2000)
        self.command(
            "export", file, "--kaunet", self.file("k"), "--bins", "25", "--modulation", "8"
        )
        read = {e: self.lines(f"k.{e}") for e in ("bandwidth", "biterror", "packetloss")}
        self.assertEqual((read["biterror"], read["packetloss"]), ([], []))
        # One line MS,BPS,MS,BPS,... from millisecond 1 on: one slot ends in it, then two, then ...
        numbers = self.numbers("k.bandwidth")
        self.assertEqual(numbers[0], 1)
        self.assertEqual(numbers[0::2], sorted(set(numbers[0::2])))
        self.assertEqual(set(numbers[1::2]), {21_600_000, 43_200_000})
        ends = [*numbers[2::2], 2001]
        bits = (
            sum(rate * (end - ms) for ms, rate, end in zip(numbers[0::2], numbers[1::2], ends))
            / 1000
        )
        self.assertEqual(bits, 32_400_000 * 2)

    def test_an_outage_at_the_end_of_a_trace_is_in_the_pattern_and_a_dead_trace_has_none(self):
        good, bad = ",".join(["20"] * 25) + "\n", ",".join(["-40"] * 25) + "\n"
        for name, rows in (("end", good * 1500 + bad * 1500), ("begin", bad * 1500 + good * 1500)):
            pathlib.Path(self.file(f"{name}.csv")).write_text(rows)
            self.command("import", self.file(f"{name}.csv"), "-o", self.file(f"{name}.h5"))
            output = self.command(
                "export", self.file(f"{name}.h5"), "--mahimahi", self.file(f"{name}.mm")
            )
            lines = [int(line) for line in self.lines(f"{name}.mm")]
            with self.subTest(name):
                self.assertIn("period 2000 ms", output)
                self.assertEqual((lines[-1], lines), (2000, sorted(lines)))
                # the outage of a second: one opportunity ends it
                gap = max(b - a for a, b in zip([0, *lines], lines))
                self.assertTrue(999 <= gap <= 1003, gap)

    def test_the_sizes_that_a_pattern_generator_asks_for_are_said(self):
        file = self.file("short.h5")
        self.rows("short.csv", 60, 150)
        self.command("import", self.file("short.csv"), "-o", file)
        output = self.command(
            "export",
            file,
            "--kaunet",
            self.file("s"),
            "--bins",
            "25",
            "--modulation",
            "8",
            "--packet-bytes",
            "1000",
        )
        self.assertIn("s.bandwidth: 100 ms", output)
        self.assertIn("s.biterror: 3240000 bits", output)
        self.assertIn("s.packetloss: 405 packets", output)
        output = self.command(
            "export", file, "--mahimahi", self.file("s.mm"), "--bins", "25", "--modulation", "8"
        )
        self.assertIn("270 opportunities, period 100 ms", output)

    def test_kaunet_bit_errors_have_the_rate_of_the_modulation(self):
        file = self.file("low.h5")
        self.rows("low.csv", 7, 1500)
        self.command("import", self.file("low.csv"), "-o", file)
        self.command(
            "export",
            file,
            "--kaunet",
            self.file("l"),
            "--bins",
            "25",
            "--modulation",
            "2",
            "--seed",
            "5",
        )
        wrong = self.numbers("l.biterror")
        self.assertEqual(wrong, sorted(set(wrong)))
        symbols = 1500 * 25 * 108
        q = 0.5 * math.erfc(math.sqrt(10**0.7 / 2))
        expected = symbols * (2 * q - q * q)  # 4-QAM
        self.assertAlmostEqual(len(wrong) / expected, 1, delta=0.02)
        lost = self.numbers("l.packetloss")
        self.assertEqual(lost, sorted({(bit - 1) // 12000 + 1 for bit in wrong}))

    def test_plot_is_a_picture(self):
        self.command("plot", self.trace, "-o", self.file("flat.png"))
        self.assertEqual(pathlib.Path(self.file("flat.png")).read_bytes()[:8], b"\x89PNG\r\n\x1a\n")

    def test_every_definition_of_the_list_can_be_rendered(self):
        names = [json.loads(line)["name"] for line in self.command("list", "--json").splitlines()]
        self.assertIn("jakes", names)
        for name in names:
            subprocess.run(
                [PROGRAM, "render", name, "-o", self.file("one.h5"), "--seconds", "3"], check=True
            )
            subprocess.run(
                [PROGRAM, "check", self.file("one.h5")], check=True, stdout=subprocess.DEVNULL
            )

    # --- what is refused ---

    def test_a_killed_writer_leaves_nothing_behind(self):
        folder = self.folder / "kill"
        folder.mkdir()
        for wait in (0.05, 0.5):
            p = subprocess.Popen(
                [PROGRAM, "render", "tdl-c", "-o", str(folder / "long.h5"), "--seconds", "20000"]
            )
            time.sleep(wait)
            p.send_signal(signal.SIGKILL)
            p.wait()
            self.assertEqual(list(folder.iterdir()), [])

    def test_with_the_command_ends_its_program_and_nothing_is_left(self):
        folder = self.folder / "ended"
        folder.mkdir()
        for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL):
            with self.subTest(signum.name):
                p = subprocess.Popen(
                    [
                        sys.executable,
                        "-m",
                        "openwip_cli",
                        "channel",
                        "render",
                        "tdl-c",
                        "-o",
                        str(folder / "long.h5"),
                        "--duration",
                        "20000",
                    ],
                    stderr=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "OPENWIP_TOP": str(TOP), "OPENWIP_BUILD": str(BUILD)},
                )
                children = pathlib.Path(f"/proc/{p.pid}/task/{p.pid}/children")
                deadline = time.monotonic() + 20
                while not any(
                    "wip_channel" in pathlib.Path(f"/proc/{n}/comm").read_text()
                    for n in children.read_text().split()
                ):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
                program = pathlib.Path(f"/proc/{children.read_text().split()[-1]}/stat")
                # The program writes the file.
                while not any(
                    "(deleted)" in os.readlink(fd) for fd in program.with_name("fd").iterdir()
                ):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
                p.send_signal(signum)
                output = p.communicate(timeout=20)[1]
                self.assertEqual(
                    (p.returncode, output),
                    (
                        (-9, "")
                        if signum == signal.SIGKILL
                        else (
                            128 + signum,
                            f"openwip: stopped by {signum.name}; everything is removed\n",
                        )
                    ),
                )
                while program.exists() and ") Z " not in program.read_text():
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
                self.assertEqual(list(folder.iterdir()), [])


class Recordings(unittest.TestCase):
    """Tests of making rows from telemetry; those with a running cell are in test_demo_keep.py."""

    def recording(self, measured):
        rows = {s: numpy.full(25, s, dtype="f4") for s in measured}
        predicted = {s: numpy.full(25, s + 0.5, dtype="f4") for s in measured}
        return channel_record.Recording(3, 13, 10, rows, predicted, "")

    def test_a_prediction_stands_in_the_row_of_its_slot(self):
        rows, gaps = self.recording(range(10, 23)).rows("refuse")
        self.assertEqual(gaps, 0)
        self.assertEqual(rows[:, 0].tolist(), list(range(13, 23)))
        self.assertEqual(rows[:, 25].tolist(), [s - 3 + 0.5 for s in range(13, 23)])

    def test_gaps_are_refused_or_held_as_asked(self):
        measured = [s for s in range(10, 23) if s not in (15, 16)]
        with self.assertRaisesRegex(
            BadInput, "2 of 10 slots were not measured, the first of them slot 15"
        ):
            self.recording(measured).rows("refuse")
        rows, gaps = self.recording(measured).rows("hold")
        self.assertEqual(gaps, 2)
        self.assertEqual(rows[:, 0].tolist(), [13, 14, 14, 14, *range(17, 23)])
        # the value that was known three slots before
        self.assertEqual(rows[5:7, 25].tolist(), [14, 14])


if __name__ == "__main__":
    unittest.main()
