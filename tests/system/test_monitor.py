# SPDX-License-Identifier: GPL-3.0-or-later
"""The real window on real cells, under Xvfb: every view that the cell feeds has data, values and pixels; settings are
changed with the keyboard, read back, and seen in the telemetry; the end of the cell is said. The pictures of
docs/monitor.md are those that this test takes (target monitor_figures).

Every wait is for a condition, none for a time: a busy machine is slow, not wrong."""
import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import monitor_window as mw                                                      # noqa: E402
import screen as screens                                                         # noqa: E402
from controls_support import happens, settings_of                                # noqa: E402
from demo_support import TOP, Demo, built, cells, environment, left_of, openwip  # noqa: E402
from openwip_cli import telemetry                                                # noqa: E402

BUILD = mw.BUILD
FIGURES = BUILD / "monitor-figures"      # what the test took
HEAT = ("measured_snr", "predicted_snr", "prediction_error", "modulation", "allocation", "arq_outcome")
FED = (*HEAT, "goodput", "packet_delay", "queue", "tcp", "constellation", "modulation_histogram", "arq_histogram",
       "delay_distribution")


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
        self.screen = self.enter(screens.Screen("1920x1080"))

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
        there = happens(lambda: (cell.cell.run / "keeper.telemetry").exists() or cell.process.poll() is not None, 60)
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

    # --- what is on the pictures ---

    def assert_pictures(self, folder, views):
        for view in views:
            with self.subTest(view=view):
                path = folder / f"{view}.png"
                self.assert_picture(view, path)

    def assert_picture(self, view, path):
        if view in ("measured_snr", "predicted_snr", "constellation"):
            share, different = mw.share_of_map(path)
            self.assertGreater(share, 0.01 if view == "constellation" else 0.3, view)
            self.assertGreater(different, 10, view)
        elif view == "modulation":
            self.assertGreater(mw.share_of_map(path)[0], 0.05)
        elif view == "prediction_error":
            # Blue to white to orange: most of it is neither grey, white nor text.
            found = mw.pixels(path)
            self.assertGreater(float(((found != mw.WHITE) & (found != mw.UNKNOWN)).mean()), 0.3)
            self.assertGreater(len(set(found.ravel().tolist())), 50)
        elif view == "allocation":
            self.assertGreater(mw.share_of(path, mw.SERIES), 0.05)
        elif view == "arq_outcome":
            self.assertGreater(mw.share_of(path, mw.OUTCOMES[:1]), 0.05)     # received well
        elif view in ("events", "controls"):
            self.assertGreater(len(set(mw.pixels(path).ravel().tolist())), 20)
        else:
            colour = {"channel": mw.SERIES[2], "arq_histogram": mw.SERIES[1], "delay_distribution": 0}.get(view, mw.SERIES[0])
            least = {"modulation_histogram": 500, "arq_histogram": 300}.get(view, 60)
            self.assertGreater(int((mw.pixels(path) == colour).sum()), least, view)

    def assert_in_the_telemetry(self, cell, bins, bits=None):
        """The base station's own samples of 20 slots: bins in use, and bits per symbol in them."""
        with telemetry.Reader({"base": cell.endpoint("base.telemetry")}, ("slot",)) as reader:
            used = []

            def settled():
                used.extend([b for b in m.telemetry.slot_sample.bits_per_symbol if b] for m in reader.poll(0.1))
                last = used[-20:]
                return (len(last) == 20 and any(last) and all(len(u) <= bins for u in last)
                        and all(bits in (None, b) for u in last for b in u))
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
        demo = self.cell("demo", name, "--speed", "0.3", "--pacing-limit-ms", "1000", "--channel", "epa", "--speed-kmh", "3",
                         "--snr", "20", "--pings", "5", "--duration", "600", "--modulation", "adaptive")
        w = self.window("--name", name)
        w.wait_for(lambda w: all(w["views"][v]["lines"] > 5 for v in (*FED, "channel")), "every view has data", 120)
        said = w.wait_for(lambda w: re.match("(IN)?VALID", w["health"]["verdict"]) and "CPU" in w["health"]["cpu"], "verdict and CPU")
        self.assertEqual(said["health"]["stream"], f"Cell '{name}'")
        self.assertRegex(said["health"]["radio"], r"^locked  SNR [\d.]+ dB  EVM [\d.]+ %")
        self.assertRegex(said["health"]["realtime"], r"^factor [\d.]+ ")

        self.assert_set(w, name, "link.max_retransmissions", "base link.max_retransmissions", 7)
        self.assert_set(w, name, "link.combining", "terminal link.combining", "off")
        w.wait_for(lambda w: w["views"]["events"]["lines"] >= 2, "changes are events")
        w.wait_for(filled, "the window of 10 s is full")
        w.key("ctrl+k", "ctrl+a", "BackSpace")      # all settings on the picture
        pictures = w.pictures()
        self.assert_pictures(pictures, (*FED, "channel", "events", "controls"))
        self.keep(pictures, {p.stem for p in pictures.glob("*.png")} - {"allocation"})     # one terminal has all

        self.assert_set(w, name, "link.bins", "base link.bins", 5)
        self.assert_set(w, name, "phy.predictor", "terminal phy.predictor", "last")
        self.assert_set(w, name, "channel.snr_db", "air channel.snr_db", 25)
        self.assert_set(w, name, "channel.speed_kmh", "air channel.speed_kmh", 10)
        self.assert_set(w, name, "channel.model", "air channel.model", "flat")
        self.assert_in_the_telemetry(demo.cell, bins=5)

        demo.kill("base.macd")
        w.wait_for(lambda w: w["health"]["stream"].startswith(f"Cell '{name}' has ended"), "the end is said")


class OnAnEmulatedCell(MonitorTest):
    def test_one_terminal_is_shown_and_changed(self):
        name = f"mon{os.getpid() % 100000}e"
        cell = self.cell("emulate", name, "--duration", "600", "--channel", "jakes", "--snr", "20", "--pacing-limit-ms", "1000")
        w = self.window("--name", name)
        w.wait_for(lambda w: all(w["views"][v]["lines"] > 5 for v in FED), "every view has data", 120)
        self.assertEqual(w.words()["terminals"], "", "one terminal: nothing to choose")

        self.assert_set(w, name, "link.modulation", "base link.modulation", "2")
        self.assert_set(w, name, "link.bins", "base link.bins", 4)
        self.assert_set(w, name, "link.allocation", "base link.allocation", "static")
        self.assert_set(w, name, "link.combining", "base link.combining", "off")
        self.assert_set(w, name, "scheduling.method", "air scheduling.method", "round_robin")
        self.assert_set(w, name, "channel.prediction_nmse", "air channel.prediction_nmse", 0.1)
        self.assert_in_the_telemetry(cell.cell, bits=2, bins=4)
        self.assertEqual(w.words()["control_status"], "channel.prediction_nmse = 0.1: taken")

        # The map of the modulation has that colour and, in the newest slots, no other.
        w.key("ctrl+1", "plus", "plus", "plus", "plus")      # a window of the last moments
        w.wait_for(lambda w: w["views"]["modulation"]["lines"] > 5, "slots in the shorter window")
        pictures = w.pictures()
        newest = [v for k, v in self.table(pictures, "modulation")[-1].items() if k.startswith("bin") and float(v or 0) > 0]
        self.assertEqual(set(map(float, newest)), {2.0})
        self.assertLessEqual(len(newest), 4)

        frames = settings_of(name)
        self.assert_set(w, name, "channel.blackout", "air channel.blackout", "on")
        frames.read()
        before = frames.status["base"].base.frames_acknowledged, frames.status["base"].base.frames_failed
        self.assertTrue(happens(lambda: (frames.read() or frames.status["base"].base.frames_failed) > before[1] + 50))
        self.assert_set(w, name, "channel.blackout", "air channel.blackout", "off")
        acknowledged = frames.status["base"].base.frames_acknowledged
        self.assertTrue(happens(lambda: (frames.read() or frames.status["base"].base.frames_acknowledged) > acknowledged + 50))

        # The stations say nothing, observer and keeper go on: the stream stalls. Then the cell dies.
        os.kill(cell.pid("emulator"), signal.SIGSTOP)
        w.wait_for(lambda w: w["health"]["stream"].startswith(f"STALLED: nothing from the stations of cell '{name}'"), "the stall is said")
        os.kill(cell.pid("emulator"), signal.SIGCONT)
        w.wait_for(lambda w: w["health"]["stream"] == f"Cell '{name}'", "it goes on")
        cell.kill("emulator")
        w.wait_for(lambda w: w["health"]["stream"].startswith(f"Cell '{name}' has ended"), "the end is said")


class SeveralTerminals(MonitorTest):
    def test_they_can_be_told_apart_in_the_window_in_top_and_in_the_report(self):
        for n in (2, 5):
            with self.subTest(terminals=n):
                self.several(n)

    def several(self, n):
        name = f"mon{os.getpid() % 100000}n{n}"
        record = self.folder / f"run{n}.h5"
        cell = self.cell("emulate", name, "--duration", "600", "--channel", "jakes", "--snr", "18", "--terminals", str(n), "--scheduling",
                         "round_robin", "--bins", "25", "--pacing-limit-ms", "1000")
        addresses = [f"10.42.0.{2 + u}" for u in range(n)]
        sender = subprocess.Popen(["ip", "netns", "exec", cell.cell.namespace("base"), "/usr/bin/python3", "-c", SENDER, *addresses],
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (sender.kill(), sender.wait()))
        recorder = subprocess.Popen([TOP / "openwip", "record", "--name", name, "--seconds", "12", record], env=environment(),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (recorder.kill(), recorder.wait()))
        with mw.Window(self.screen, self.folder, "--name", name) as w:
            w.wait_for(lambda w: all(w["views"][v]["lines"] > 5 for v in FED if v != "tcp"), "every view has data", 120)
            w.wait_for(filled, "the window of 10 s is full")
            said = w.wait_for(lambda w: w["terminals"] == f"all {n} terminals", "all are shown first")
            self.assertRegex(said["health"]["radio"], rf"^{n} of {n} terminals locked  SNR [\d.-]+ to [\d.-]+ dB$")
            self.assertEqual(said["views"]["allocation"]["title"], f"Allocation: all {n} terminals")
            pictures = w.pictures()
            self.assert_pictures(pictures, HEAT)
            share = mw.share_of(pictures / "allocation.png", mw.SERIES[:n])
            for colour in mw.SERIES[:n]:      # each has about its part of the bins
                self.assertGreater(mw.share_of(pictures / "allocation.png", [colour]), 0.3 * share / n)
            if n == 5:
                self.keep(pictures, ("window", "allocation"), "terminals_")
            w.key("ctrl+1", "t")
            said = w.wait_for(lambda w: w["terminals"] == "terminal 1", "T: the next")
            w.key("t")
            w.wait_for(lambda w: w["views"]["modulation"]["title"] == "Modulation: terminal 2", "T again")
            self.assertRegex(w.health("radio"), r"^locked  SNR ")
            of_one = w.pictures()
            whole, part = (float(sum(float(r[f"bin{b}"] or 0) > 0 for r in self.table(p, "modulation") for b in range(25)))
                           for p in (pictures, of_one))
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
        self.assertEqual(len(re.findall(r"(?m)^  terminal \d+ +-?[\d.]+ +[\d.]+ +[\d.<]+% +[\d.]+ ", done.stdout)), n, done.stdout)

    def assert_report(self, record, n):
        done = openwip("report", str(record))
        self.assertEqual(done.returncode, 0, done.stderr)
        text = record.with_suffix(".html").read_text()
        for words in ("Allocation", "Goodput of each terminal", *(f"Measured SNR of terminal {u + 1}" for u in range(n))):
            self.assertIn(words, text)


class WithoutACell(MonitorTest):
    def test_no_cell_is_said_and_what_to_do(self):
        name = f"mon{os.getpid() % 100000}x"
        w = self.window("--name", name)
        said = w.wait_for(lambda w: "not running" in w["health"]["stream"], "that there is none")
        self.assertIn(f"Cell '{name}' is not running. Start it: sudo ./openwip demo --name {name}", said["health"]["stream"])
        self.assertEqual({v: said["views"][v]["lines"] for v in HEAT}, dict.fromkeys(HEAT, 0))
        self.assertEqual(said["health"]["verdict"], "no verdict yet")
        w.process.terminate()
        self.assertEqual(w.process.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
