# SPDX-License-Identifier: GPL-3.0-or-later
"""The real window on real cells, under Xvfb: every view that the cell feeds has data, values and
pixels; settings are changed with the keyboard, read back, and seen in the telemetry; the end of the
cell is said. The pictures of docs/how-to/monitor.md are those that this test takes (target
monitor_figures).

Every wait is for a condition, none for a time: a busy machine is slow, not wrong."""

import csv
import itertools
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import monitor_window as mw
import pictures as png
import screen as screens
from controls_support import happens, settings_of
from demo_support import (
    GENTLE,
    TOP,
    Demo,
    attenuator_in_qemu,
    built,
    environment,
    left_of,
    openwip,
)
from openwip_cli.messages import control, telemetry

BUILD = mw.BUILD
FIGURES = BUILD / "monitor-figures"  # what the test took
HEAT = (
    "measured_snr",
    "predicted_snr",
    "prediction_error",
    "modulation",
    "allocation",
    "arq_outcome",
)
FED = (
    *HEAT,
    "goodput",
    "packet_delay",
    "queue",
    "tcp",
    "constellation",
    "modulation_histogram",
    "arq_histogram",
    "delay_distribution",
)
RECEIVED = ("channel", "spectrum")  # of samples: not of an emulated cell
DELAYS = ("packet_delay", "delay_distribution")
WINDOW_SLOTS = 15000


def filled(words):
    """The map is painted over its whole width: 1000 samples of a slot."""
    return words["views"]["measured_snr"]["lines"] > 950


SENDER = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for address in 4 * sys.argv[1:]:      # more than the link carries: each takes what it gets
        s.sendto(bytes(1400), (address, 9))
    time.sleep(0.004)
"""


@unittest.skipIf(os.geteuid() != 0, "network namespaces need root")
@unittest.skipUnless(built(), "the cell's processes are not built")
@unittest.skipUnless(mw.PROGRAM.exists(), "the monitor is not part of this build")
@unittest.skipIf(screens.missing(), f"not installed: {screens.missing()}")
class MonitorTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="openwip-monitor-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.screen = self.enter(screens.Screen("1920x1400"))

    def enter(self, context):
        value = context.__enter__()
        self.addCleanup(context.__exit__, None, None, None)
        return value

    def window(self, *options):
        return self.enter(mw.Window(self.screen, self.folder, *options))

    def cell(self, command, name, *options):
        """In the background, with traffic all the time; gone at the end."""
        cell = Demo(name, *options) if command == "demo" else Emulated(name, *options)
        self.addCleanup(self.assert_nothing_left, cell.cell)
        self.addCleanup(cell.close)
        there = happens(
            lambda: (cell.cell.run / "keeper.telemetry").exists()
            or cell.process.poll() is not None,
            60,
        )
        self.assertTrue(there and cell.process.poll() is None, cell.said)
        return cell

    def assert_nothing_left(self, cell):
        self.assertTrue(happens(lambda: not left_of(cell)), left_of(cell))

    def assert_set(self, window, name, key, control, value, shown=None):
        """With the keyboard; the window and ./openwip get say the same."""
        window.set(control, value)
        done = openwip("get", "--name", name, "--json", key)
        self.assertEqual(done.returncode, 0, done.stderr)
        got = json.loads(done.stdout)["values"][key]
        self.assertTrue(mw.same(got, shown or value), (key, got))

    # --- what is on the pictures: what the CSV of the same view says, inside the axes ---

    def assert_pictures(self, folder, views):
        for view in views:
            with self.subTest(view=view):
                self.assert_picture(view, folder)

    def assert_picture(self, view, folder):
        path, table = folder / f"{view}.png", self.table(folder, view)
        if view == "constellation":
            share, different = mw.share_of_map(png.load(path))
            self.assertGreater(share, 0.01)
            self.assertGreater(different, 10)
            return
        if view == "delay_distribution":
            self.assert_curve_of_delays(path, table)
            return
        shown = mw.inside_axes(path)
        if view in HEAT:
            cells = numpy.array(
                [
                    [float(v or "nan") for k, v in row.items() if k.startswith("bin")]
                    for row in table
                ]
            )
            self.assert_map(view, shown, cells)
        elif view.endswith("_histogram"):
            self.assert_bars(view, shown, numpy.array([float(row["frames"]) for row in table]))
        elif view == "packet_delay":
            self.assert_parts(shown, table)
        elif view == "channel":
            self.assertGreater(mw.columns_with(shown, mw.SERIES[0]), 0.3, "magnitude")
            self.assertGreater(int((png.load(path) == mw.SERIES[2]).sum()), 60, "impulse response")
        elif view == "spectrum":
            self.assertGreater(mw.columns_with(shown, mw.SERIES[0]), 0.9, "mean")
            self.assertGreater(mw.columns_with(shown, mw.SERIES[1]), 0.8, "highest")
            one, mean, most = (
                numpy.array([float(row[k]) for row in table])
                for k in ("dbfs", "mean_dbfs", "highest_dbfs")
            )
            self.assertEqual(len(table), 768)
            self.assertTrue((one <= most + 1e-3).all() and (mean <= most + 1e-3).all())
            mhz = numpy.array([abs(float(row["frequency_mhz"])) for row in table])
            band, beside = mean[mhz < 2.4], mean[(mhz > 2.7) & (mhz < 3.7)]
            # 20 dB over the noise, which is the same on both sides of the band.
            self.assertLess(
                abs(numpy.median(band) - numpy.median(beside) - 20),
                6,
                (numpy.median(band), numpy.median(beside)),
            )
            self.assertLess(beside.max() - beside.min(), 8)
        else:
            slots = [int(row["slot"]) for row in table]
            self.assertGreater(
                mw.columns_with(shown, mw.SERIES[0]),
                0.7 * min(1, (max(slots) - min(slots)) / WINDOW_SLOTS),
            )

    def assert_empty_views_would_be_seen(self, folder, views):
        """The same pictures and CSVs with nothing between the axes (no error of the prediction:
        white) fail."""
        empty = folder / "empty"
        empty.mkdir()
        for view in views:
            shutil.copy(folder / f"{view}.csv", empty)
            found = png.load(folder / f"{view}.png")
            if view == "constellation":
                found[:] = mw.WHITE
            else:
                found, left, top, right, bottom = mw.box(folder / f"{view}.png")
                found[top + 1 : bottom, left + 1 : right] = (
                    0xF4F4F4 if view == "prediction_error" else mw.WHITE
                )
            png.save(found, empty / f"{view}.png")
            with self.subTest(empty=view), self.assertRaises(AssertionError):
                self.assert_picture(view, empty)

    def assert_map(self, view, shown, cells):
        about = lambda colours, share: self.assertLess(
            abs(mw.share_of(shown, colours) - share), 0.15, (view, colours, share)
        )
        if view in ("measured_snr", "predicted_snr"):
            share, different = mw.share_of_map(shown)
            self.assertGreater(share, 0.7, view)
            self.assertGreater(different, 20, view)
        elif view == "prediction_error":
            # 20 dB from blue to orange, white in the middle: 0.2 dB above and 0.4 dB below it are
            # 12 of 255.
            for name, found, said in (
                ("orange", mw.redness(shown) > 12, cells > 0.2),
                ("blue", mw.redness(shown) < -12, cells < -0.4),
            ):
                self.assertGreater(said.mean(), 0.003, name)
                self.assertTrue(
                    0.4 < found.mean() / said.mean() < 2.5, (name, found.mean(), said.mean())
                )
        elif view == "modulation":
            self.assertGreater((cells > 0).mean(), 0.05)
            about([mw.WHITE, mw.UNKNOWN, 0], 1 - (cells > 0).mean())
        elif view == "allocation":
            for u in range(int(numpy.nanmax(cells[cells < 25])) + 1):
                about([mw.SERIES[u]], (cells == u).mean())
        else:
            self.assertGreater((cells == 1).mean(), 0.05)
            about(mw.OUTCOMES[:1], (cells == 1).mean())  # received well

    def assert_bars(self, view, shown, frames):
        """A bar is 0.8 of a step wide. One that is only as high as the ticks may be cut off."""
        share = frames / frames.sum()
        arq = view == "arq_histogram"
        step = 1 / (max(6, numpy.flatnonzero(frames)[-1]) + 1.2) if arq else 1 / 8.2
        cut, least = (0.0005, 0.0001) if arq else (0.15, 0.03)
        columns = mw.columns_with(shown, mw.SERIES[1 if arq else 0])
        self.assertGreater(columns, 0.7 * step * (share > cut).sum(), view)
        self.assertLess(columns, 0.9 * step * (share > least).sum() + 0.02, view)

    def assert_parts(self, shown, table):
        """Areas of the stacked parts of the delay."""
        delivered = [row for row in table if not row["dropped"]]
        self.assertGreater(len(delivered), 50)
        said = numpy.array(
            [sum(float(row[f"{part}_ms"]) for row in delivered) for part in mw.DELAY_PARTS]
        )
        found = numpy.array(
            [(shown == mw.SERIES[colour]).sum() for colour in mw.DELAY_PARTS.values()]
        )
        self.assertGreater(found.sum(), 0.02 * shown.size)
        self.assertLess(abs(found / found.sum() - said / said.sum()).max(), 0.15, (found, said))

    def assert_curve_of_delays(self, path, table):
        """The black curve passes where the percentiles of the total are; both axes are
        logarithmic."""
        total = [float(row["total_ms"]) for row in table]
        found, left, top, right, bottom = mw.box(path)
        decades = math.ceil(math.log10(max(10, total[-1]))) + 1  # from 0.1 ms
        for longer in (75, 50, 25, 10):
            y = round(top + (2 - math.log10(longer)) / 4 * (bottom - top))
            x = left + (math.log10(total[10 * (100 - longer)]) + 1) / decades * (right - left)
            black = (
                left
                + 1
                + mw.TICKS
                + numpy.flatnonzero(found[y, left + 1 + mw.TICKS : right - mw.TICKS] == 0)
            )
            self.assertLess(
                abs(black - x).min(initial=math.inf), 0.04 * (right - left), (longer, x, black)
            )

    def assert_lists(self, bare, folder):
        """Events and settings, against the same lists with a filter that nothing passes."""
        lines = len(self.table(folder, "events"))
        for view, least in (("events", 100 * min(lines, 2)), ("controls", 500)):
            self.assertGreater(
                mw.ink(folder / f"{view}.png") - mw.ink(bare / f"{view}.png"), least, view
            )

    def assert_in_the_telemetry(self, cell, bins, bits=None):
        """The base station's own samples of 20 slots: bins in use, and bits per symbol in them."""
        with telemetry.Reader({"base": cell.endpoint("base.telemetry")}, ("slot",)) as reader:
            used = []

            def settled():
                used.extend(
                    [b for b in m.telemetry.slot_sample.bits_per_symbol if b]
                    for m in reader.poll(0.1)
                )
                last = used[-20:]
                return (
                    len(last) == 20
                    and any(last)
                    and all(len(u) <= bins for u in last)
                    and all(bits in (None, b) for u in last for b in u)
                )

            self.assertTrue(happens(settled, 60), used[-20:])

    @staticmethod
    def table(folder, view):
        with open(folder / f"{view}.csv", newline="") as f:
            return list(csv.DictReader(f))

    @staticmethod
    def keep(folder, names, prefix=""):
        """For docs/figures."""
        FIGURES.mkdir(exist_ok=True)
        for path in folder.glob("*.png"):
            if path.stem in names:
                shutil.copy(path, FIGURES / f"monitor_{prefix}{path.name}")


class Emulated(Demo):
    def __init__(self, name, *arguments):
        super().__init__(name, *arguments, command="emulate")


class OnADemo(MonitorTest):
    def test_every_view_shows_the_radio_and_the_keyboard_changes_it(self):
        name = f"mon{os.getpid() % 100000}d"
        demo = self.cell(
            "demo",
            name,
            *GENTLE,
            "--channel",
            "epa",
            "--speed-kmh",
            "3",
            "--snr",
            "20",
            "--pings",
            "5",
            "--duration",
            "600",
            "--modulation",
            "adaptive",
            "--queue-packets",
            "25",
        )
        w = self.window("--name", name)
        w.wait_for(
            lambda w: all(w["views"][v]["lines"] > 5 for v in (*FED, *RECEIVED)),
            "every view has data",
            120,
        )
        said = w.wait_for(
            lambda w: re.match("(IN)?VALID", w["health"]["verdict"])
            and "cores" in w["health"]["cpu"],
            "verdict and CPU",
        )
        self.assertEqual(said["health"]["stream"], f"Cell '{name}'")
        self.assertRegex(said["health"]["radio"], r"^locked  SNR [\d.]+ dB  EVM [\d.]+ %")
        self.assertRegex(said["health"]["realtime"], r"^factor [\d.]+ ")

        self.assert_set(w, name, "link.max_retransmissions", "base link.max_retransmissions", 7)
        self.assert_set(w, name, "link.combining", "terminal link.combining", "off")
        w.wait_for(lambda w: w["views"]["events"]["lines"] >= 2, "changes are events")
        w.wait_for(filled, "the window of 10 s is full")
        for key in ("ctrl+f", "ctrl+k"):
            w.key(key, "ctrl+a")
            w.type("nothing has this")
        bare = w.pictures()
        for key in ("ctrl+f", "ctrl+k"):
            w.key(key, "ctrl+a", "BackSpace")
        pictures = w.pictures()
        self.assert_lists(bare, pictures)
        self.assert_pictures(pictures, (*FED, *RECEIVED))
        # one terminal has all
        self.assert_empty_views_would_be_seen(pictures, (*set(FED) - {"allocation"}, *RECEIVED))
        # At this load a delay is the queue's.
        self.keep(pictures, {p.stem for p in pictures.glob("*.png")} - {"allocation", *DELAYS})

        self.assert_set(w, name, "link.bins", "base link.bins", 5)
        self.assert_set(w, name, "phy.predictor", "terminal phy.predictor", "last")
        self.assert_set(w, name, "channel.snr_db", "air channel.snr_db", 25)
        self.assert_set(w, name, "channel.speed_kmh", "air channel.speed_kmh", 10)
        self.assert_set(w, name, "channel.model", "air channel.model", "flat")
        self.assert_in_the_telemetry(demo.cell, bins=5)

        demo.kill("base.macd")
        w.wait_for(
            lambda w: w["health"]["stream"].startswith(f"Cell '{name}' has ended"),
            "the end is said",
        )


class OnAnEmulatedCell(MonitorTest):
    def test_one_terminal_is_shown_and_changed(self):
        name = f"mon{os.getpid() % 100000}e"
        cell = self.cell(
            "emulate",
            name,
            "--duration",
            "600",
            "--channel",
            "jakes",
            "--snr",
            "20",
            "--tcp-window-kb",
            "8",
            "--pacing-limit-ms",
            "1000",
        )
        w = self.window("--name", name)
        w.wait_for(
            lambda w: all(w["views"][v]["lines"] > 5 for v in FED), "every view has data", 120
        )
        self.assertEqual(w.words()["terminals"], "", "one terminal: nothing to choose")
        w.wait_for(
            lambda w: re.match("(IN)?VALID", w["health"]["verdict"]) and filled(w),
            "verdict, and the window of 10 s is full",
        )
        pictures = w.pictures()
        self.assert_pictures(pictures, (*DELAYS, "queue", "prediction_error"))
        self.assertEqual(w.lines("spectrum"), 0)
        self.keep(pictures, DELAYS)

        self.assert_set(w, name, "link.modulation", "base link.modulation", "2")
        self.assert_set(w, name, "link.bins", "base link.bins", 4)
        self.assert_set(w, name, "link.allocation", "base link.allocation", "static")
        self.assert_set(w, name, "link.combining", "base link.combining", "off")
        self.assert_set(w, name, "scheduling.method", "air scheduling.method", "round_robin")
        self.assert_set(w, name, "channel.prediction_nmse", "air channel.prediction_nmse", 0.1)
        self.assert_in_the_telemetry(cell.cell, bits=2, bins=4)
        self.assertEqual(w.words()["control_status"], "channel.prediction_nmse = 0.1: taken")

        # The map of the modulation has that colour and, in the newest slots, no other.
        w.key("ctrl+1", "plus", "plus", "plus", "plus")  # a window of the last moments
        w.wait_for(lambda w: w["views"]["modulation"]["lines"] > 5, "slots in the shorter window")
        pictures = w.pictures()
        newest = [
            v
            for k, v in self.table(pictures, "modulation")[-1].items()
            if k.startswith("bin") and float(v or 0) > 0
        ]
        self.assertEqual(set(map(float, newest)), {2.0})
        self.assertLessEqual(len(newest), 4)

        frames = settings_of(name)
        self.assert_set(w, name, "channel.blackout", "air channel.blackout", "on")
        frames.read()
        before = (
            frames.status["base"].base.frames_acknowledged,
            frames.status["base"].base.frames_failed,
        )
        self.assertTrue(
            happens(
                lambda: (frames.read() or frames.status["base"].base.frames_failed) > before[1] + 50
            )
        )
        self.assert_set(w, name, "channel.blackout", "air channel.blackout", "off")
        acknowledged = frames.status["base"].base.frames_acknowledged
        self.assertTrue(
            happens(
                lambda: (frames.read() or frames.status["base"].base.frames_acknowledged)
                > acknowledged + 50
            )
        )

        # The stations say nothing, observer and keeper go on: the stream stalls. Then the cell
        # dies.
        os.kill(cell.pid("emulator"), signal.SIGSTOP)
        w.wait_for(
            lambda w: w["health"]["stream"].startswith(
                f"STALLED: nothing from the stations of cell '{name}'"
            ),
            "the stall is said",
        )
        os.kill(cell.pid("emulator"), signal.SIGCONT)
        w.wait_for(lambda w: w["health"]["stream"] == f"Cell '{name}'", "it goes on")
        cell.kill("emulator")
        w.wait_for(
            lambda w: w["health"]["stream"].startswith(f"Cell '{name}' has ended"),
            "the end is said",
        )


class SeveralTerminals(MonitorTest):
    def test_they_can_be_told_apart_in_the_window_in_top_and_in_the_report(self):
        for n in (2, 5):
            with self.subTest(terminals=n):
                self.several(n)

    def several(self, n):
        name = f"mon{os.getpid() % 100000}n{n}"
        record = self.folder / f"run{n}.h5"
        cell = self.cell(
            "emulate",
            name,
            "--duration",
            "600",
            "--channel",
            "jakes",
            "--speed-kmh",
            "3",
            "--snr",
            "18",
            "--terminals",
            str(n),
            "--scheduling",
            "proportional_fair",
            "--bins",
            "25",
            "--pacing-limit-ms",
            "1000",
        )
        addresses = [f"10.42.0.{2 + u}" for u in range(n)]
        sender = subprocess.Popen(
            [
                "ip",
                "netns",
                "exec",
                cell.cell.namespace("base"),
                "/usr/bin/python3",
                "-c",
                SENDER,
                *addresses,
            ],
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(lambda: (sender.kill(), sender.wait()))
        recorder = subprocess.Popen(
            [TOP / "openwip", "record", "--name", name, "--duration", "12", record],
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.addCleanup(lambda: (recorder.kill(), recorder.wait()))
        with mw.Window(self.screen, self.folder, "--name", name) as w:
            w.wait_for(
                lambda w: all(w["views"][v]["lines"] > 5 for v in FED if v != "tcp"),
                "every view has data",
                120,
            )
            w.wait_for(filled, "the window of 10 s is full")
            said = w.wait_for(
                lambda w: w["terminals"] == f"all {n} terminals", "all are shown first"
            )
            self.assertRegex(
                said["health"]["radio"],
                rf"^{n} of {n} terminals locked  SNR [\d.-]+ to [\d.-]+ dB$",
            )
            self.assertEqual(said["views"]["allocation"]["title"], f"Allocation: all {n} terminals")
            pictures = w.pictures()
            self.assert_pictures(pictures, HEAT)
            shown = mw.inside_axes(pictures / "allocation.png")
            share = mw.share_of(shown, mw.SERIES[:n])
            for colour in mw.SERIES[:n]:  # each has about its part of the bins
                self.assertGreater(mw.share_of(shown, [colour]), 0.3 * share / n)
            if n == 5:
                self.keep(pictures, ("window", "allocation"), "terminals_")
            w.key("ctrl+1", "t")
            said = w.wait_for(lambda w: w["terminals"] == "terminal 1", "T: the next")
            w.key("t")
            w.wait_for(
                lambda w: w["views"]["modulation"]["title"] == "Modulation: terminal 2", "T again"
            )
            self.assertRegex(w.health("radio"), r"^locked  SNR ")
            of_one = w.pictures()
            whole, part = (
                float(
                    sum(
                        float(r[f"bin{b}"] or 0) > 0
                        for r in self.table(p, "modulation")
                        for b in range(25)
                    )
                )
                for p in (pictures, of_one)
            )
            self.assertTrue(0 < part < whole, (part, whole))
            w.key("shift+t", "shift+t")
            w.wait_for(lambda w: w["terminals"] == f"all {n} terminals", "Shift+T: back")
        self.assert_top(name, n)
        self.assertEqual(recorder.wait(60), 0)
        self.assert_report(record, n)
        sender.kill()

    def assert_top(self, name, n):
        done = openwip("top", "--name", name, "--once")
        self.assertIn(done.returncode, (0, 1), done)
        lines = done.stdout.rstrip("\n").split("\n")
        self.assertLessEqual(len(lines), 24)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertRegex(done.stdout, rf"(?m)^terminals {n} +SNR dB ")
        self.assertEqual(
            len(
                re.findall(r"(?m)^  terminal \d+ +-?[\d.]+ +[\d.]+ +[\d.<]+% +[\d.]+ ", done.stdout)
            ),
            n,
            done.stdout,
        )

    def assert_report(self, record, n):
        done = openwip("report", str(record))
        self.assertEqual(done.returncode, 0, done.stderr)
        text = record.with_suffix(".html").read_text()
        for words in (
            "Allocation",
            "Goodput of each terminal",
            *(f"Measured SNR of terminal {u + 1}" for u in range(n)),
        ):
            self.assertIn(words, text)


class Recorded(MonitorTest):
    def test_what_a_window_recorded_until_it_was_killed_is_a_whole_run_record_that_another_replays(
        self,
    ):
        name, record = f"mon{os.getpid() % 100000}r", self.folder / "run.h5"
        self.cell(
            "emulate",
            name,
            "--duration",
            "600",
            "--channel",
            "jakes",
            "--speed-kmh",
            "3",
            "--snr",
            "18",
            "--pacing-limit-ms",
            "1000",
        )
        with mw.Window(self.screen, self.folder, "--name", name, "--record", record) as w:
            w.wait_for(
                lambda w: all(w["views"][v]["lines"] > 5 for v in FED), "every view has data", 120
            )
            w.process.kill()
        self.assertTrue(happens(record.exists, 60))
        done = openwip("record", "info", str(record))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^command +\S*openwip emulate --name " + name)
        self.assertRegex(done.stdout, r"(?m)^  slot +base +[1-9]\d* messages; 0 lost$")
        self.assertEqual(openwip("report", str(record)).returncode, 0)
        w = self.window("--name", name, "--replay", record)
        said = w.wait_for(
            lambda w: all(w["views"][v]["lines"] > 5 for v in FED),
            "the replay feeds every view",
            120,
        )
        self.assertEqual(said["health"]["stream"], "Replay")
        self.assertRegex(said["health"]["telemetry"], r"^telemetry \d+$")


class AnAttenuator(MonitorTest):
    def test_its_track_moves_with_the_levels_that_it_plays(self):
        """Its firmware runs in QEMU; the cell is on cables, its software USRPs do not hear it."""
        levels = (5, 12.5, 20, 27.5)
        table = self.folder / "table.csv"
        table.write_text("2\n" + "".join(f"{levels[k % 4]}\n" for k in range(1200)))
        self.folder.chmod(0o755)  # a table is read as the account
        machine = attenuator_in_qemu(self, self.folder)
        name = f"mon{os.getpid() % 100000}a"
        cell = self.cell(
            "demo",
            name,
            *GENTLE,
            "--air",
            "cabled",
            "--attenuator",
            machine.port,
            "--attenuator-channels",
            "2",
            "--attenuator-trace",
            str(table),
            "--attenuator-period",
            "1000",
            "--attenuator-silence",
            "30000",
            "--pings",
            "5",
            "--udp-mbps",
            "0.1",
            "--duration",
            "600",
        )
        w = self.window("--name", name)
        cell.wait_for("TCP download", 120)
        begun = w.lines("fader")
        # Thirty a second, and 10 s of them are seen: in 9 s, each level at least twice.
        w.wait_for(
            lambda w: w["views"]["fader"]["lines"] > begun + 270,
            "levels of fader and attenuator",
            120,
        )
        asked = control.Control(cell.cell.endpoint("attenuator.control"))
        before = asked.status(3)
        pictures = w.pictures()
        after = asked.status(3)
        self.assertEqual((before.state, after.state), ("playing", "playing"))
        rows = [r for r in self.table(pictures, "fader") if r["attenuator_channel"]]
        self.assertEqual({r["attenuator_channel"] for r in rows}, {"2"})
        shown = [float(r["attenuator_db"]) for r in rows]
        # The newest is what the device has on its chips now, each change is to the next level of
        # the table.
        self.assertIn(
            shown[-1],
            {levels[(max(1, k) - 1) % 4] for k in range(before.played - 1, after.played + 1)},
        )
        turns = [(a, b) for a, b in itertools.pairwise(shown) if a != b]
        self.assertGreater(len(turns), 6)
        self.assertEqual(
            [b for _, b in turns], [levels[(levels.index(a) + 1) % 4] for a, _ in turns]
        )
        self.assert_track(pictures / "fader.png", shown, levels)
        self.keep(pictures, ("fader",), "attenuator_")

    def assert_track(self, path, shown, levels):
        """As far below 0 as it takes away, on an axis from -70 to 110: each level as wide as its
        share of the time."""
        found, left, top, right, bottom = mw.box(path)
        track = found[:, left + 1 : right] == mw.SERIES[5]
        wide = []
        for level in levels:
            y = round(top + (110 + level) / 180 * (bottom - top))
            wide.append(int(track[y - 2 : y + 3].any(axis=0).sum()))
        self.assertGreater(sum(wide), 0.4 * (right - left), wide)
        for level, n in zip(levels, wide):
            self.assertLess(
                abs(n / sum(wide) - shown.count(level) / len(shown)), 0.1, (levels, wide)
            )


class WithoutACell(MonitorTest):
    def test_no_cell_is_said_and_what_to_do(self):
        name = f"mon{os.getpid() % 100000}x"
        w = self.window("--name", name)
        said = w.wait_for(lambda w: "not running" in w["health"]["stream"], "that there is none")
        self.assertIn(
            f"Cell '{name}' is not running. Start it: sudo ./openwip demo --name {name}",
            said["health"]["stream"],
        )
        self.assertEqual({v: said["views"][v]["lines"] for v in HEAT}, dict.fromkeys(HEAT, 0))
        self.assertEqual(said["health"]["verdict"], "no verdict yet")
        w.process.terminate()
        self.assertEqual(w.process.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
