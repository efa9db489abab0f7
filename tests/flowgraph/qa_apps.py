# SPDX-License-Identifier: GPL-3.0-or-later
"""base_station.py and terminal.py over the software USRP: their frames, their life and their ends."""

import json
import pathlib
import signal
import subprocess
import sys
import unittest
from unittest import mock

from apps_world import APPS, END_S, Cell, LoopPlanner, LoopRecorder
from gnuradio import uhd


class NobodyExpected(unittest.TestCase):
    def test_an_error_of_the_system_ends_a_program_in_one_line(self):
        program = (
            f"import sys; sys.path[:0] = [{str(APPS)!r}]; sys.argv = ['terminal.py']; import"
            " program; program.run_program(lambda: open('/proc/nothing/there'))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "terminal: cannot go on: No such file or directory: /proc/nothing/there\n"),
        )


class OverTheSoftwareRadio(Cell):
    def start_cell(self, air=None, terminal=(), **planner):
        self.endpoints = {k: f"ipc://{self.run_path}/{k}.slot" for k in ("base", "terminal")}
        self.recorder = LoopRecorder(self.endpoints["terminal"])
        self.planner = LoopPlanner(self.endpoints["base"], self.recorder, **planner)
        self.recorder.start(), self.planner.start()
        self.addCleanup(self.planner.end)
        self.addCleanup(self.recorder.end)
        self.start_air(**(air or {}))
        self.app("base", "--endpoint", self.endpoints["base"])
        self.app("terminal", "--endpoint", self.endpoints["terminal"], "--timeout", "1", *terminal)
        running = self.wait(lambda: self.recorder.reached(300), 15)
        self.assertTrue(running, "slots are received")

    def test_every_planned_frame_is_reported_from_its_slot(self):
        self.start_cell(last_slot=1199)
        self.assert_ends("base", 3, "base_station: macd asks to stop: the run is over")
        self.wait(lambda: self.recorder.reached(1190), 2)
        self.processes["terminal"].terminate()
        self.assert_ends("terminal", 0, "terminal: asked to stop")
        self.assertEqual([r.air for r in self.planner.requests], list(range(150, 1201)))
        self.assertEqual({(r.late_slots, r.underflows) for r in self.planner.requests}, {(0, 0)})
        locked = [r for r in self.recorder.reports if r.locked]
        self.assertGreater(len(locked), 1000)
        first = locked[0].air
        self.assertLess(first, 195)
        self.assertEqual([r.air for r in locked], list(range(first, first + len(locked))))
        for report in locked:
            if report.air < 1195:
                self.assertTrue(report.grant_ok)
                self.assertEqual(
                    {b.bin: b.payload for b in report.bins}, self.planner.sent[report.air]
                )

    def test_gain_control_lifts_a_signal_that_12_bits_do_not_carry(self):
        # -65 dBFS at gain 0, where a step of the converter is -66 dBFS.
        self.start_cell(
            {"gain_db": -50, "terminal": "noise_dbfs: -110, impairments: [{adc_bits: 12}]"},
            ("--gain-control", "on"),
            last_slot=1199,
        )
        self.assertTrue(self.wait(lambda: self.recorder.reached(1190), 20))
        late = [r for r in self.recorder.reports if 700 <= r.air < 1190]
        self.assertTrue(all(r.locked and r.grant_ok for r in late))
        for report in late:
            self.assertEqual({b.bin: b.payload for b in report.bins}, self.planner.sent[report.air])
        state = [r.state for r in late if r.HasField("state")][-1]
        self.assertAlmostEqual(state.gain_db, 45, delta=7)
        self.assertLess(state.gain_changes, 5)
        self.assertAlmostEqual(state.rx_level_dbfs, -20, delta=7)
        self.assertEqual((state.mode, state.cell), ("locked", 0))

    def test_a_macd_that_dies_ends_its_flowgraph(self):
        self.start_cell()
        self.recorder.end()
        self.assert_ends("terminal", 3, f"terminal: macd at {self.endpoints['terminal']} went away")
        self.planner.end()
        self.assert_ends("base", 3, f"base_station: macd at {self.endpoints['base']} went away")

    def test_a_medium_that_dies_ends_both_flowgraphs(self):
        self.start_cell()
        self.processes["air"].kill()
        self.assert_ends("terminal", 3, "terminal: radio: the medium is gone")
        self.assert_ends("base", 3, "base_station: radio: the medium is gone")

    def test_no_macd_for_ten_seconds_is_not_waited_for_in_silence_when_asked_to_stop(self):
        self.start_air()
        self.app("base", "--endpoint", f"ipc://{self.run_path}/nobody")
        self.processes["base"].stdout.readline()
        self.processes["base"].terminate()
        self.assertLess(self.assert_ends("base", 0, "base_station: asked to stop"), 1.5)


class LifeAndEnd(Cell):
    def start_base(self, **environment):
        self.start_air()
        process = self.app("base", environment={**self.environment, **environment})
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_asked_to_stop(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name):
                self.start_base().send_signal(number)
                self.assertLess(self.assert_ends("base", 0, "base_station: asked to stop"), 1.5)
                self.tearDown(), self.setUp()

    def test_a_signal_takes_its_reason_from_the_run(self):
        process = self.start_base(OPENWIP_RUN=str(self.run_path))
        words = "terminal.macd was killed by SIGKILL"
        why = self.run_path / "why"
        why.write_text(json.dumps({"cause": "DIED", "words": words}))
        process.terminate()
        self.assert_ends("base", 3, f"base_station: {words}")

    def test_a_reason_that_somebody_asked_is_no_failure_whatever_its_words(self):
        process = self.start_base(OPENWIP_RUN=str(self.run_path))
        why = self.run_path / "why"
        why.write_text(json.dumps({"cause": "ASKED", "words": "the last flow died"}))
        process.terminate()
        self.assert_ends("base", 0, "base_station: the last flow died")

    def test_ends_with_its_parent(self):
        self.start_air()
        code = (
            "import subprocess, sys, time\n"
            "p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)\n"
            "p.stdout.readline(); print(p.pid, flush=True); time.sleep(60)"
        )
        parent = self.start(
            "parent",
            sys.executable,
            "-c",
            code,
            sys.executable,
            APPS / "base_station.py",
            "--args",
            f"type=vusrp,air={self.name},node=base",
            environment={**self.environment, "OPENWIP_RUN": str(self.run_path)},
        )
        child = int(parent.stdout.readline())
        parent.kill()
        self.assertTrue(self.wait(lambda: not alive(child), END_S))


RECORDED = 100  # slots
# The start is told to the radio 0.2 s before the flowgraph starts: 0.15 s after its time. Says when
# samples come.
LATE = """
import sys, time
sys.path.insert(0, sys.argv.pop(1))
sys.argv.pop(0)
import begins, terminal, usrp
set_start, tick, calls = usrp.set_start, begins.RadioStart.tick, []
def slowly(*arguments):
    at = set_start(*arguments)
    calls.append(at)
    time.sleep(0.2 * (len(calls) == SLOW))
    return at
def told(self):
    tick(self)
    if self.start is None: print("came", flush=True)
usrp.set_start, begins.RadioStart.tick = slowly, told
terminal.main()
"""


class TooLate(Cell):
    """A cell on a clock that does not wait, where a command for a time that is over starts
    nothing."""

    def output(self, slow_call, radio="type=vusrp", *more):
        """The standard error of a terminal whose start takes so long at that call, until samples
        have come and it was stopped."""
        process = self.start(
            "terminal",
            sys.executable,
            "-c",
            LATE.replace("SLOW", str(slow_call)),
            APPS,
            "terminal",
            "--args",
            radio,
            "--start-in",
            "0.05",
            *more,
        )
        self.assertEqual([process.stdout.readline() for _ in range(2)], ["ready\n", "came\n"])
        if more:
            self.assertTrue(
                self.wait(
                    lambda: (self.run_path / "x.sigmf-data").stat().st_size >= 40960 * RECORDED,
                    END_S,
                )
            )
        process.terminate()
        return process.communicate(timeout=END_S)[1].splitlines()

    def test_a_flowgraph_that_takes_longer_to_make_than_there_is_until_the_start_starts_later(self):
        self.assertEqual(self.output(1), ["terminal: asked to stop"])

    def test_a_radio_that_was_told_too_late_is_started_again_and_the_recording_and_the_converter_begin_there(
        self,
    ):
        for slow_call, radio in ((2, "type=vusrp"), (3, "type=vusrp,product=x310,faults=0")):
            with self.subTest(radio):
                output = self.output(
                    slow_call,
                    radio,
                    "--record-iq",
                    self.run_path / "x",
                    "--record-iq-slots",
                    RECORDED,
                )
                self.assertEqual(
                    output[-2:],
                    [
                        (
                            "terminal: nothing came from the radio after its start; it is started"
                            " again"
                        ),
                        "terminal: asked to stop",
                    ],
                )
                self.assertEqual((self.run_path / "x.sigmf-data").stat().st_size, 40960 * RECORDED)
                meta = json.loads((self.run_path / "x.sigmf-meta").read_text())
                capture, *gaps = meta["captures"]
                self.assertEqual(
                    (capture["openwip:slot"], capture["openwip:slot_sample"], gaps),
                    (meta["global"]["openwip:receiver"]["start_slot"], 0, []),
                )

    def test_a_start_that_is_far_ahead_is_waited_for_before_the_source_times_out(self):
        import begins

        slept = []
        radio = mock.Mock(get_time_now=lambda: uhd.time_spec(10 + sum(slept)))
        options = mock.Mock(start_in=5.0, early_s=0)
        with mock.patch.object(begins.time, "sleep", slept.append):
            begins.RadioStart(radio, options, None, lambda slot: None).set_and_wait(
                lambda: len(slept) > 100
            )
            self.assertAlmostEqual(sum(slept), 5 - begins.RadioStart.AHEAD_S, places=2)
            self.assertEqual(options.start_time[0], 15 * 1500)
            begins.RadioStart(radio, options, None, lambda slot: None).set_and_wait(lambda: True)
        self.assertAlmostEqual(sum(slept), 5 - begins.RadioStart.AHEAD_S, places=2)


def alive(pid):
    try:
        return (
            pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        )
    except OSError:
        return False


if __name__ == "__main__":
    unittest.main()
