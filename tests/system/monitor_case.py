# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the tests of the real window: a cell with traffic, a window on it under Xvfb, and what
its pictures have to show: what the CSV of the same view says."""

import csv
import json
import math
import os
import pathlib
import shutil
import sys
import tempfile
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import monitor_window as mw
import pictures as png
import screen as screens
from controls_support import happens
from demo_support import (
    Demo,
    built,
    left_of,
    openwip,
)
from openwip_cli.messages import telemetry

BUILD = mw.BUILD
FIGURES = BUILD / "monitor-figures"  # folder for the pictures that the tests take
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
# views of received samples, which an emulated cell does not have
RECEIVED = ("channel", "spectrum")
DELAYS = ("packet_delay", "delay_distribution")
WINDOW_SLOTS = 15000


def filled(words):
    """The map is painted over its whole width: 1000 samples of a slot."""
    return words["views"]["measured_snr"]["lines"] > 950


SENDER = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for address in 4 * sys.argv[1:]:      # offers more than the link carries, so that each terminal gets its share
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
        """A cell in the background, with traffic all the time; it ends with the test."""
        cell = Demo(name, *options) if command == "demo" else Emulated(name, *options)
        self.addCleanup(self.assert_nothing_left, cell.cell)
        self.addCleanup(cell.close)
        there = happens(
            lambda: (cell.cell.run / "keeper.telemetry").exists()
            or cell.process.poll() is not None,
            60,
        )
        self.assertTrue(there and cell.process.poll() is None, cell.output)
        return cell

    def assert_nothing_left(self, cell):
        self.assertTrue(happens(lambda: not left_of(cell)), left_of(cell))

    def assert_set(self, window, name, key, control, value, shown=None):
        """Sets a value with the keyboard; the window and ./openwip get then have the same."""
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
            for name, found, reported in (
                ("orange", mw.redness(shown) > 12, cells > 0.2),
                ("blue", mw.redness(shown) < -12, cells < -0.4),
            ):
                self.assertGreater(reported.mean(), 0.003, name)
                self.assertTrue(
                    0.4 < found.mean() / reported.mean() < 2.5,
                    (name, found.mean(), reported.mean()),
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
        reported = numpy.array(
            [sum(float(row[f"{part}_ms"]) for row in delivered) for part in mw.DELAY_PARTS]
        )
        found = numpy.array(
            [(shown == mw.SERIES[colour]).sum() for colour in mw.DELAY_PARTS.values()]
        )
        self.assertGreater(found.sum(), 0.02 * shown.size)
        self.assertLess(
            abs(found / found.sum() - reported / reported.sum()).max(), 0.15, (found, reported)
        )

    def assert_curve_of_delays(self, path, table):
        """The black curve passes where the percentiles of the total are; both axes are
        logarithmic."""
        total = [float(row["total_ms"]) for row in table]
        found, left, top, right, bottom = mw.box(path)
        # decades of the axis, which begins at 0.1 ms
        decades = math.ceil(math.log10(max(10, total[-1]))) + 1
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
        """Keeps pictures for docs/figures."""
        FIGURES.mkdir(exist_ok=True)
        for path in folder.glob("*.png"):
            if path.stem in names:
                shutil.copy(path, FIGURES / f"monitor_{prefix}{path.name}")


class Emulated(Demo):
    def __init__(self, name, *arguments):
        super().__init__(name, *arguments, command="emulate")
