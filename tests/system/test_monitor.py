# SPDX-License-Identifier: GPL-3.0-or-later
"""The real window on real cells, under Xvfb: every view that the cell feeds has data, values and
pixels; settings are changed with the keyboard, read back, and seen in the telemetry; the end of the
cell is said. The pictures of docs/how-to/monitor.md are those that this test takes (target
monitor_figures).

Every wait is for a condition, none for a time: a busy machine is slow, not wrong."""

import itertools
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import monitor_window as mw
from controls_support import happens, settings_of
from demo_support import (
    GENTLE,
    TOP,
    attenuator_in_qemu,
    environment,
    openwip,
)
from monitor_case import DELAYS, FED, HEAT, RECEIVED, SENDER, MonitorTest, filled
from openwip_cli.messages import control


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
        reported = w.wait_for(
            lambda w: re.match("(IN)?VALID", w["health"]["verdict"])
            and "cores" in w["health"]["cpu"],
            "verdict and CPU",
        )
        self.assertEqual(reported["health"]["stream"], f"Cell '{name}'")
        self.assertRegex(reported["health"]["radio"], r"^locked  SNR [\d.]+ dB  EVM [\d.]+ %")
        self.assertRegex(reported["health"]["realtime"], r"^factor [\d.]+ ")

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
        # With a single terminal, it has all bins.
        self.assert_empty_views_would_be_seen(pictures, (*set(FED) - {"allocation"}, *RECEIVED))
        # At this load most of a delay is that of the queue.
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
        w.key("ctrl+1", "plus", "plus", "plus", "plus")  # shortens the window to the last moments
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

        # The stations say nothing, observer and supervisor go on: the stream stalls. Then the cell
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
            reported = w.wait_for(
                lambda w: w["terminals"] == f"all {n} terminals", "all are shown first"
            )
            self.assertRegex(
                reported["health"]["radio"],
                rf"^{n} of {n} terminals locked  SNR [\d.-]+ to [\d.-]+ dB$",
            )
            self.assertEqual(
                reported["views"]["allocation"]["title"], f"Allocation: all {n} terminals"
            )
            pictures = w.pictures()
            self.assert_pictures(pictures, HEAT)
            shown = mw.inside_axes(pictures / "allocation.png")
            share = mw.share_of(shown, mw.SERIES[:n])
            for colour in mw.SERIES[:n]:  # each has about its part of the bins
                self.assertGreater(mw.share_of(shown, [colour]), 0.3 * share / n)
            if n == 5:
                self.keep(pictures, ("window", "allocation"), "terminals_")
            w.key("ctrl+1", "t")
            reported = w.wait_for(lambda w: w["terminals"] == "terminal 1", "T: the next")
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
                # Twelve seconds fill the goodput's window of ten points. A killed window leaves its last
                # seconds behind, and the replay has to show six points.
                lambda w: (
                    all(w["views"][v]["lines"] > 5 for v in FED)
                    and w["views"]["goodput"]["lines"] > 9
                ),
                "every view has data",
                120,
            )
            w.process.kill()
        self.assertTrue(happens(record.exists, 60))
        done = openwip("record", "info", str(record))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^command +\S*openwip emulate --name " + name)
        self.assertRegex(done.stdout, r"(?m)^  slot +base +[1-9]\d* messages; 0 lost$")
        self.assertEqual(openwip("report", str(record)).returncode, 0)
        w = self.window("--name", name, "--replay", record)
        reported = w.wait_for(
            lambda w: all(w["views"][v]["lines"] > 5 for v in FED),
            "the replay feeds every view",
            120,
        )
        self.assertEqual(reported["health"]["stream"], "Replay")
        self.assertRegex(reported["health"]["telemetry"], r"^telemetry \d+$")


class AnAttenuator(MonitorTest):
    def test_its_track_moves_with_the_levels_that_it_plays(self):
        """The firmware of the attenuator runs in QEMU. The cell is on cables, but the attenuator
        does not affect its software USRPs."""
        levels = (5, 12.5, 20, 27.5)
        table = self.folder / "table.csv"
        table.write_text("2\n" + "".join(f"{levels[k % 4]}\n" for k in range(1200)))
        self.folder.chmod(0o755)  # the table is read under the account
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
        """The track is as far below 0 as the attenuation, on an axis from -70 to 110, and each
        level as wide as its share of the time."""
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
        reported = w.wait_for(
            lambda w: "not running" in w["health"]["stream"], "that there is none"
        )
        self.assertIn(
            f"Cell '{name}' is not running. Start it: sudo ./openwip demo --name {name}",
            reported["health"]["stream"],
        )
        self.assertEqual({v: reported["views"][v]["lines"] for v in HEAT}, dict.fromkeys(HEAT, 0))
        self.assertEqual(reported["health"]["verdict"], "no verdict yet")
        w.process.terminate()
        self.assertEqual(w.process.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
