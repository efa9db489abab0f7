# SPDX-License-Identifier: GPL-3.0-or-later
"""openwip channel: what the files hold, against theory; and how bad ones are refused."""

import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import h5py
import numpy
from scipy.special import j0

TOP = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
PROGRAM = str(BUILD / "host" / "channel" / "wip_channel")
sys.path.insert(0, str(TOP / "host" / "cli"))

from openwip_cli.channel import record as channel_record
from openwip_cli.errors import BadInput


class Traces(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.trace = cls.file("flat.h5")
        cls.command(
            "render",
            "flat",
            "-o",
            cls.trace,
            "--speed-kmh",
            "75",
            "--duration",
            "60",
            "--snr",
            "13",
            "--seed",
            "4",
            "--prediction-nmse",
            "0.1",
        )

    @classmethod
    def file(cls, name):
        return str(cls.folder / name)

    @classmethod
    def run_it(cls, *arguments, **more):
        return subprocess.run(
            [sys.executable, "-m", "openwip_cli", "channel", *arguments],
            capture_output=True,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": f"{BUILD / 'python'}:{TOP / 'host' / 'cli'}",
                "OPENWIP_TOP": str(TOP),
                "OPENWIP_BUILD": str(BUILD),
            },
            **more,
        )

    @classmethod
    def command(cls, *arguments):
        done = cls.run_it(*arguments)
        assert done.returncode == 0, done
        return done.stdout

    def refused(self, pattern, *arguments):
        done = self.run_it(*arguments)
        self.assertEqual(done.returncode, 2, done)
        lines = done.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertRegex(lines[0], pattern)
        self.assertEqual(done.stdout, "")

    def lines(self, name):
        return (self.folder / name).read_text().splitlines()

    def numbers(self, name):
        """The values of one line with commas between them."""
        (line,) = self.lines(name)
        return [int(n) for n in line.split(",")]

    def rows(self, name, snr_db, slots):
        with open(self.file(name), "w", encoding="ascii") as f:
            f.writelines(",".join([str(snr_db)] * 25) + "\n" for _ in range(slots))

    def damaged(self, name, change):
        """A copy of the trace, changed."""
        copy = self.file(name)
        shutil.copy(self.trace, copy)
        with h5py.File(copy, "r+") as f:
            change(f)
        return copy

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

    def test_the_sizes_that_a_pattern_generator_asks_for_are_said(self):
        file = self.file("short.h5")
        self.rows("short.csv", 60, 150)
        self.command("import", self.file("short.csv"), "-o", file)
        said = self.command(
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
        self.assertIn("s.bandwidth: 100 ms", said)
        self.assertIn("s.biterror: 3240000 bits", said)
        self.assertIn("s.packetloss: 405 packets", said)
        said = self.command(
            "export", file, "--mahimahi", self.file("s.mm"), "--bins", "25", "--modulation", "8"
        )
        self.assertIn("270 opportunities, period 100 ms", said)

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

    def test_bad_traces_are_refused_in_one_line(self):
        def attribute(key, value):
            return lambda f: f.attrs.__setitem__(key, value)

        def data(key, change):
            def apply(f):
                values = change(f[key][:])
                attributes = dict(f[key].attrs)
                del f[key]
                f.create_dataset(key, data=values).attrs.update(attributes)

            return apply

        def one(value):
            def change(v):
                v[77, 5] = value
                return v

            return change

        for pattern, change in (
            ("version 2: valid is 1", attribute("version", 2)),
            ("slots_per_second 1000: valid is 1500", attribute("slots_per_second", 1000)),
            ("bins 24: valid is 25", attribute("bins", 24)),
            ("format: valid is openwip-snr-trace", attribute("format", "something")),
            ("version: valid is an integer", attribute("version", "1")),
            ("mean_snr_db: valid is a finite", attribute("mean_snr_db", float("nan"))),
            ("no attribute seed", lambda f: f.attrs.__delitem__("seed")),
            ("no dataset snr_db", lambda f: f.__delitem__("snr_db")),
            ("slots x 25 bins", data("snr_db", lambda v: v[:, :24])),
            ("slots x 25 bins", data("snr_db", lambda v: v[0])),
            ("has 0 slots: valid is 1", data("snr_db", lambda v: v[:0])),
            ("32-bit floating-point", data("snr_db", lambda v: v.astype("i4"))),
            ("32-bit floating-point", data("snr_db", lambda v: v.astype("f8"))),
            ("snr_db of slot 77, bin 5: .*nan", data("snr_db", one(float("nan")))),
            ("slot 77, bin 5: .*inf", data("snr_db", one(float("inf")))),
            ("slot 77, bin 5: -61.*valid is -60 to 80", data("snr_db", one(-61))),
            ("predicted_snr_db of slot 77", data("predicted_snr_db", one(81))),
            ("predicted_snr_db has 89999 slots", data("predicted_snr_db", lambda v: v[:-1])),
            (
                "horizon_slots -1",
                lambda f: f["predicted_snr_db"].attrs.__setitem__("horizon_slots", -1),
            ),
            (
                "method: valid is",
                lambda f: f["predicted_snr_db"].attrs.__setitem__("method", "magic"),
            ),
        ):
            with self.subTest(pattern):
                self.refused(pattern, "info", self.damaged("bad.h5", change))

    def test_rows_in_other_files_are_refused_by_name_by_every_command_that_reads_a_trace(self):
        """Where the source is not found they would be 0 dB, and which one it is depends on the
        folder."""

        def other(key, make):
            def apply(f):
                data, attributes = f[key][:], dict(f[key].attrs)
                del f[key]
                make(f, key, data)
                if isinstance(f.get(key, getlink=True), h5py.HardLink):
                    f[key].attrs.update(attributes)

            return apply

        def virtual(f, key, data):
            layout = h5py.VirtualLayout(shape=data.shape, dtype="<f4")
            layout[:] = h5py.VirtualSource(self.trace, key, shape=data.shape)
            f.create_virtual_dataset(key, layout)

        def link(f, key, _):
            f[key] = h5py.ExternalLink(self.trace, f"/{key}")

        def soft_link(f, key, _):
            f["elsewhere"] = h5py.ExternalLink(self.trace, "/")
            f[key] = h5py.SoftLink(f"/elsewhere/{key}")

        def circle(f, key, _):
            f[key] = h5py.SoftLink(f"/{key}")

        def external(f, key, data):
            f.create_dataset(
                key, shape=data.shape, dtype="<f4", external=[(self.file("raw"), 0, data.nbytes)]
            )

        def lzf(f, key, data):
            f.create_dataset(key, data=data, compression="lzf")

        for pattern, make in (
            ("is a virtual one, whose rows are in other files", virtual),
            ("is a link to another file", link),
            ("is a link to another file", soft_link),
            ("has its rows in another file \\(external storage\\)", external),
            ("is stored with the filter 32000 \\(lzf\\): valid are deflate", lzf),
            ("cannot be opened", circle),
        ):
            for key in ("snr_db", "predicted_snr_db"):
                with self.subTest(pattern, key=key):
                    bad = self.damaged("bad.h5", other(key, make))
                    self.refused(f"bad.h5: dataset {key} {pattern}", "info", bad)
        for command in (
            ("plot", bad, "-o", self.file("bad.png")),
            ("export", bad, "--csv", self.file("bad.csv")),
            ("export", bad, "--mahimahi", self.file("bad.mm")),
        ):
            self.refused("bad.h5: dataset predicted_snr_db cannot be opened", *command)

    def test_a_soft_link_within_the_file_is_followed(self):
        self.command(
            "info",
            self.damaged(
                "soft.h5",
                lambda f: (f.move("snr_db", "raw"), f.__setitem__("snr_db", h5py.SoftLink("/raw"))),
            ),
        )

    def test_a_fifo_is_not_waited_for(self):
        os.mkfifo(self.file("fifo.h5"))
        self.refused("fifo.h5: is not an HDF5 file", "info", self.file("fifo.h5"))

    def test_truncated_and_foreign_files_are_refused(self):
        whole = pathlib.Path(self.trace).read_bytes()
        for size in (0, 10, 100, 1000, len(whole) // 2, len(whole) - 1):
            with open(self.file("cut.h5"), "wb") as f:
                f.write(whole[:size])
            with self.subTest(size):
                self.refused("cut.h5: .*(truncated|not an HDF5)", "info", self.file("cut.h5"))
        flipped = bytearray(whole)
        for at in range(len(whole) // 2, len(whole) // 2 + 64):
            flipped[at] ^= 0xFF
        with open(self.file("flipped.h5"), "wb") as f:
            f.write(flipped)
        self.refused("damaged", "info", self.file("flipped.h5"))
        self.refused("cannot be read: No such file", "info", self.file("none.h5"))
        self.refused("not an HDF5", "info", str(self.folder))

    def test_a_full_disk_is_no_bad_input(self):
        done = self.run_it("export", self.trace, "--mahimahi", "/dev/full")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertEqual(
            done.stderr, "openwip: /dev/full: cannot be written: No space left on device\n"
        )
        done = self.run_it("render", "flat", "-o", "/dev/full", "--duration", "1")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertEqual(
            done.stderr, "openwip: /dev/full: cannot be written: No space left on device\n"
        )

    @unittest.skipIf(os.geteuid() != 0, "mounts a small disk, which needs root")
    def test_a_small_disk_is_said_with_its_cause_and_what_was_there_stays(self):
        small = self.folder / "small"
        small.mkdir()
        done = subprocess.run(
            [
                "unshare",
                "-m",
                "sh",
                "-c",
                """mount -t tmpfs -o size=64k none "$0" && echo yesterday >"$0/x.h5" &&
                               "$@" render jakes -o "$0/x.h5" --duration 20; echo "rc $?"; cat "$0/x.h5"; ls -A "$0" """,
                str(small),
                PROGRAM,
            ],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.stdout, "rc 1\nyesterday\nx.h5\n", done)
        self.assertRegex(done.stderr, "x.h5: cannot be written: No space left on device\n$")

    def test_a_refused_export_leaves_what_was_there(self):
        kept = pathlib.Path(self.file("kept.trace"))
        kept.write_text("yesterday")
        self.refused(
            "carries less than one packet",
            "export",
            self.trace_of_nothing(),
            "--mahimahi",
            str(kept),
        )
        self.assertEqual(kept.read_text(), "yesterday")

    def trace_of_nothing(self):
        """In which no packet is delivered."""
        with open(self.file("deep.csv"), "w", encoding="ascii") as f:
            f.writelines(",".join(["-50"] * 25) + "\n" for _ in range(3))
        self.command("import", self.file("deep.csv"), "-o", self.file("deep.h5"))
        return self.file("deep.h5")

    @unittest.skipIf(os.geteuid() != 0, "an attacker on root needs root")
    def test_a_link_that_another_user_has_planted_is_replaced(self):
        folder = self.folder / "shared"
        folder.mkdir()
        folder.chmod(0o1777)
        victim = self.folder / "victim"
        victim.write_text("root's")
        self.command("export", self.trace, "--csv", self.file("rows.csv"))
        for n, command in enumerate(
            (
                ("plot", self.trace, "-o"),
                ("export", self.trace, "--csv"),
                ("export", self.trace, "--mahimahi"),
                ("render", "flat", "--duration", "1", "-o"),
                ("import", self.file("rows.csv"), "-o"),
            )
        ):
            planted = folder / f"out{n}"
            planted.symlink_to(victim)
            os.lchown(planted, 65534, 65534)
            with self.subTest(command):
                self.command(*command, str(planted))
                self.assertFalse(planted.is_symlink())
                self.assertEqual(victim.read_text(), "root's")

    def test_bad_arguments_are_refused(self):
        x = self.file("x.h5")
        for pattern, arguments in (
            ("valid is list, render", ("paint",)),
            ("'mars': unknown", ("render", "mars", "-o", x)),
            ("--duration = -1: must be", ("render", "jakes", "-o", x, "--duration", "-1")),
            ("--seed", ("render", "jakes", "-o", x, "--seed", "-1")),
            ("--snr is '99'; valid: -60..80", ("render", "jakes", "-o", x, "--snr", "99")),
            ("--horizon = 65: must be 0 .. 64", ("render", "jakes", "-o", x, "--horizon", "65")),
            ("fades too little", ("render", "static", "-o", x, "--prediction-nmse", "0.1")),
            ("moves by its own", ("render", "hst", "-o", x, "--speed-kmh", "3")),
            ("cannot be written", ("render", "jakes", "-o", self.file("no/x.h5"))),
            ("--bins", ("export", self.trace, "--mahimahi", x, "--bins", "26")),
            ("--modulation", ("export", self.trace, "--mahimahi", x, "--modulation", "9")),
            ("--rate 0", ("import", self.trace, "-o", x, "--rate", "0")),
            ("cannot be written", ("plot", self.trace, "-o", self.file("no/x.png"))),
        ):
            with self.subTest(arguments):
                self.refused(pattern, *arguments)
        self.assertFalse(os.path.exists(x))

    def test_what_is_read_is_not_written_over(self):
        for command in (
            ("plot", "-o"),
            ("export", "--csv"),
            ("export", "--mahimahi"),
            ("import", "-o"),
        ):
            name = self.file("kept")
            shutil.copy(self.trace, name)
            before = pathlib.Path(name).read_bytes()
            self.refused(
                "cannot be written: that file is given twice", command[0], name, command[1], name
            )
            self.assertEqual(pathlib.Path(name).read_bytes(), before)

    def test_bad_csv_is_refused_with_its_line(self):
        good = ",".join(["3"] * 25)
        for pattern, text in (
            ("line 2 has 24 columns", f"{good}\n{good[2:]}\n"),
            ("line 1: valid are numbers", f"x{good}\n"),
            ("line 3: valid are SNRs", f"snr_db_0\n{good}\nnan{good[1:]}\n"),
            ("line 1: valid are SNRs", f"inf{good[1:]}\n"),
            ("has no rows", "\n"),
        ):
            with open(self.file("bad.csv"), "w", encoding="ascii") as f:
                f.write(text)
            with self.subTest(pattern):
                self.refused(pattern, "import", self.file("bad.csv"), "-o", self.file("x.h5"))

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
                # it writes
                while not any(
                    "(deleted)" in os.readlink(fd) for fd in program.with_name("fd").iterdir()
                ):
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
                p.send_signal(signum)
                said = p.communicate(timeout=20)[1]
                self.assertEqual(
                    (p.returncode, said),
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
    """From telemetry to rows; with a running cell: test_demo_keep.py."""

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
            BadInput, "2 of 10 slots were not measured, the first is slot 15"
        ):
            self.recording(measured).rows("refuse")
        rows, gaps = self.recording(measured).rows("hold")
        self.assertEqual(gaps, 2)
        self.assertEqual(rows[:, 0].tolist(), [13, 14, 14, 14, *range(17, 23)])
        self.assertEqual(rows[5:7, 25].tolist(), [14, 14])  # what was known three slots before


if __name__ == "__main__":
    unittest.main()
