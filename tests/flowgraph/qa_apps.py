# SPDX-License-Identifier: GPL-3.0-or-later
"""base_station.py and terminal.py over the software USRP, each with a macd played by the test."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

from fake_macd import Planner, Recorder
from gnuradio import uhd

TOP = pathlib.Path(__file__).resolve().parents[2]
APPS = TOP / "flowgraphs" / "apps"
sys.path[:0] = [str(APPS), str(TOP / "host" / "cli")]

from openwip_cli.machine import media

BUILD = pathlib.Path(os.environ["OPENWIP_BUILD"])
END_S = 3  # to notice and say so; the apps themselves need less than one
MODULATION = [8, 7, 6, 5, 4, 3, 2, 1] + [4] * 17


class LoopPlanner(Planner):
    """Plans slot k when the terminal has reported slot k - 3, as the real control loop does."""

    def __init__(self, endpoint, recorder, **settings):
        super().__init__(endpoint, MODULATION, **settings)
        self.recorder = recorder

    def before_plan(self, air):
        with self.recorder.news:
            while not (air < 153 or self.over.is_set() or self.recorder.reached(air - 3)):
                self.recorder.news.wait(0.1)


class LoopRecorder(Recorder):
    def __init__(self, endpoint):
        super().__init__(endpoint)
        self.news = threading.Condition()

    def on(self, message):
        with self.news:
            super().on(message)
            self.news.notify_all()

    def reached(self, air):
        return bool(self.reports) and self.reports[-1].air >= air


WAITING = {}  # started with the first test, looked at by the last: a reference is waited for 10 s


def setUpModule():
    for what, program, *more in (
        ("gpsdo", "terminal", "type=vusrp,product=b210", "--clock-source", "gpsdo"),
        ("reference", "terminal", "type=vusrp,product=b210", "--clock-source", "external"),
        (
            "edge",
            "base_station",
            "type=vusrp,reference=1",
            "--clock-source",
            "external",
            "--time-source",
            "external",
        ),
        (
            "both",
            "terminal",
            "type=vusrp,reference=1,pps=1",
            "--clock-source",
            "external",
            "--time-source",
            "external",
            "--start-in",
            "0.2",
        ),
    ):
        WAITING[what] = subprocess.Popen(
            [sys.executable, APPS / f"{program}.py", "--args", *more],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def tearDownModule():
    for process in WAITING.values():
        process.kill()
        process.communicate()


class NobodyExpected(unittest.TestCase):
    def test_an_error_of_the_system_ends_a_program_in_one_line(self):
        program = (
            f"import sys; sys.path[:0] = [{str(APPS)!r}]; sys.argv = ['terminal.py']; import"
            " station; station.run_program(lambda: open('/proc/nothing/there'))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (1, "terminal: cannot go on: No such file or directory: /proc/nothing/there\n"),
        )


class Cell(unittest.TestCase):
    def setUp(self):
        self.run_folder = tempfile.TemporaryDirectory(prefix="openwip-qa-")
        self.run_path = pathlib.Path(self.run_folder.name)
        self.name = f"qa{os.getpid()}"
        self.processes = {}
        self.environment = {k: v for k, v in os.environ.items() if k != "OPENWIP_RUN"}

    def tearDown(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
            process.communicate()
            process.stdout.close(), process.stderr.close()
        # A killed medium leaves its socket to the next start of the same name; here there is none.
        media.remove(self.name)
        self.run_folder.cleanup()

    def start(self, key, *command, environment=None):
        self.processes[key] = subprocess.Popen(
            list(map(str, command)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment or self.environment,
        )
        return self.processes[key]

    def start_air(self, gain_db=0, terminal="noise_dbfs: -60"):
        config = self.run_path / "air.yaml"
        config.write_text(
            f"air: {{name: {self.name}, clock: lockstep, speed: 1.0, wait_for: {{transmitters: 1,"
            f" receivers: 1}}, seed: 1, control: 'ipc://{self.run_path}/air.control',"
            f" pacing_limit_ms: 10}}\nnodes: {{base: {{}}, terminal: {{{terminal}}}}}\npaths:"
            f" [{{from: base, to: terminal, gain_db: {gain_db}, delay_samples: 77, channel:"
            " awgn}]\n"
        )
        air = self.start("air", BUILD / "host/medium/air", "--config", config)
        socket = self.run_path / "air.control"
        self.wait(lambda: socket.exists() or air.poll() is not None, 5)
        self.assertIsNone(air.poll(), "the medium started")

    def app(self, key, *more, environment=None):
        program, node = ("base_station", "base") if key == "base" else ("terminal", "terminal")
        return self.start(
            key,
            sys.executable,
            APPS / f"{program}.py",
            "--args",
            f"type=vusrp,air={self.name},node={node}",
            *more,
            environment=environment,
        )

    def wait(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.01)
        return condition()

    def assert_ends(self, key, code, line):
        """Ends in time with the code and exactly this one line on stderr."""
        process = self.processes[key]
        begin = time.monotonic()
        try:
            out, err = process.communicate(timeout=END_S)
        except subprocess.TimeoutExpired:
            self.fail(f"{key} did not end within {END_S} s")
        self.assertEqual((process.returncode, err.strip().splitlines()), (code, [line]), out)
        return time.monotonic() - begin


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
import station, terminal
set_start, tick, calls = station.set_start, station.Begins.tick, []
def slowly(*arguments):
    at = set_start(*arguments)
    calls.append(at)
    time.sleep(0.2 * (len(calls) == SLOW))
    return at
def told(self):
    tick(self)
    if self.start is None: print("came", flush=True)
station.set_start, station.Begins.tick = slowly, told
terminal.main()
"""


class TooLate(Cell):
    """On a clock that does not wait, where a command for a time that is over starts nothing."""

    def said(self, slow_call, radio="type=vusrp", *more):
        """On stderr, of a terminal whose start takes so long at that call, until samples have come
        and it was asked to stop."""
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
        self.assertEqual(self.said(1), ["terminal: asked to stop"])

    def test_a_radio_that_was_told_too_late_is_started_again_and_the_recording_and_the_converter_begin_there(
        self,
    ):
        for slow_call, radio in ((2, "type=vusrp"), (3, "type=vusrp,product=x310,faults=0")):
            with self.subTest(radio):
                said = self.said(
                    slow_call,
                    radio,
                    "--record-iq",
                    self.run_path / "x",
                    "--record-iq-slots",
                    RECORDED,
                )
                self.assertEqual(
                    said[-2:],
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
        import station

        slept = []
        radio = mock.Mock(get_time_now=lambda: uhd.time_spec(10 + sum(slept)))
        options = mock.Mock(start_in=5.0, early_s=0)
        with mock.patch.object(station.time, "sleep", slept.append):
            station.Begins(radio, options, None, lambda slot: None).before(lambda: len(slept) > 100)
            self.assertAlmostEqual(sum(slept), 5 - station.Begins.AHEAD_S, places=2)
            self.assertEqual(options.start_time[0], 15 * 1500)
            station.Begins(radio, options, None, lambda slot: None).before(lambda: True)
        self.assertAlmostEqual(sum(slept), 5 - station.Begins.AHEAD_S, places=2)


def alive(pid):
    try:
        return (
            pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
        )
    except OSError:
        return False


class BadInput(Cell):
    def test_a_power_can_be_asked_for_where_the_radio_is_calibrated(self):
        for radio, power, words in (
            ("b210", 0, "no power calibration"),
            ("b210,calibrated=1", 30, "valid is -94.75 to -5 dBm"),
        ):
            with self.subTest(radio=radio):
                done = subprocess.run(
                    [
                        sys.executable,
                        APPS / "base_station.py",
                        "--args",
                        f"type=vusrp,clock=lockstep,product={radio}",
                        "--tx-power",
                        str(power),
                    ],
                    capture_output=True,
                    text=True,
                    timeout=20,
                    env=self.environment,
                )
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(words, done.stderr)

    def test_the_carrier_has_the_power_that_was_asked_for(self):
        """A b210 has full scale at 10 dBm with 89.75 dB, and the carrier is 15 dB below that."""
        for power, gain in ((-10, 84.75), (-40.25, 54.5)):
            base = self.start(
                "base",
                sys.executable,
                APPS / "base_station.py",
                "--args",
                "type=vusrp,clock=lockstep,product=b210,calibrated=1",
                "--tx-power",
                str(power),
            )
            made = json.loads(base.stdout.readline())
            self.assertAlmostEqual(made["carrier_dbm"], power, delta=0.05)
            self.assertAlmostEqual(made["gain_db"], gain)
            self.assertEqual(base.stdout.readline(), "ready\n")
            base.terminate()
            base.communicate(timeout=END_S)

    def test_what_is_a_setting_has_the_range_of_the_table(self):
        for arguments, words in ((["--lead", "46"], "0..45"), (["--edge-samples", "41"], "0..40")):
            done = subprocess.run(
                [sys.executable, APPS / "base_station.py", "--args", "type=vusrp", *arguments],
                capture_output=True,
                text=True,
                timeout=20,
                env=self.environment,
            )
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)

    def test_the_gain_of_a_station_is_that_of_its_side_and_within_the_range_of_its_radio(self):
        for program, side, other, valid in (
            ("base_station", "transmit", "receive", "0..89.75"),
            ("terminal", "receive", "transmit", "0..76"),
        ):
            for arguments, words in (
                (
                    (f"--{side}-gain", "90"),
                    f"--{side}-gain is 90; valid with this radio: {valid} dB",
                ),
                (
                    (f"--{side}-gain", "-1"),
                    f"--{side}-gain is -1; valid with this radio: {valid} dB",
                ),
                ((f"--{other}-gain", "1"), f"unrecognized arguments: --{other}-gain 1"),
                *(
                    (
                        (*gain,),
                        (
                            "--gain is not an option; it is now --transmit-gain, of the"
                            " transmitter, or --receive-gain, of the receiver; valid here:"
                            f" --{side}-gain"
                        ),
                    )
                    for gain in (("--gain", "1"), ("--gain=1",))
                ),
            ):
                with self.subTest(program=program, arguments=arguments):
                    done = subprocess.run(
                        [
                            sys.executable,
                            APPS / f"{program}.py",
                            "--args",
                            "type=vusrp,clock=lockstep,product=b210",
                            *arguments,
                        ],
                        capture_output=True,
                        text=True,
                        timeout=20,
                        env=self.environment,
                    )
                    self.assertEqual(
                        (done.returncode, len(done.stderr.splitlines())), (2, 1), done.stderr
                    )
                    self.assertIn(words, done.stderr)

    def test_bad_options_end_with_one_line_and_code_2(self):
        for arguments, words in (
            ([], "--args"),
            (["--args", "type=vusrp", "--cell", "64"], "0 .. 63"),
            (["--args", "type=vusrp", "--start-time", "0.1001"], "1/1500"),
            (["--args", "type=vusrp", "--start-time", "soon"], "soon"),
            (["--args", "type=vusrp", "--endpoint", "nowhere"], "endpoint"),
            (["--args", "type=vusrp", "--freq", "abc"], "abc"),
            (["--args", "type=vusrp", "--freq", "1e5"], "1000000.."),
            (["--args", "type=vusrp", "--bogus"], "--bogus"),
            (["--args", f"type=vusrp,air={self.name}-none,node=base,connect_timeout=0.1"], "radio"),
        ):
            for program in ("base_station", "terminal"):
                with self.subTest(program=program, arguments=arguments):
                    done = subprocess.run(
                        [sys.executable, APPS / f"{program}.py", *arguments],
                        capture_output=True,
                        text=True,
                        timeout=20,
                        env=self.environment,
                    )
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
                    self.assertIn(words, done.stderr)


class WhatTheClockNeeds(unittest.TestCase):
    """Software USRPs in gr-uhd; test_radio_time has a mock of one."""

    def said(self, what):
        """(exit code, standard error) of a program that was started with the first test."""
        out, err = WAITING[what].communicate(timeout=20)
        return WAITING[what].returncode, err.splitlines()

    def test_a_source_that_the_radio_refuses_ends_the_program_in_its_words(self):
        self.assertEqual(
            self.said("gpsdo"),
            (
                2,
                [
                    "terminal: radio: LookupError: KeyError: update_clock_source: gpsdo selected,"
                    " but no gpsdo detected!"
                ],
            ),
        )

    def test_a_reference_that_is_not_connected_ends_the_program_in_one_line(self):
        self.assertEqual(
            self.said("reference"),
            (
                2,
                [
                    "terminal: radio: ref_locked (clock source external) did not come within 10 s:"
                    " connect 10 MHz to REF IN (level: the device's manual), or --clock-source"
                    " internal"
                ],
            ),
        )

    def test_an_edge_that_does_not_come_ends_the_program_in_one_line(self):
        self.assertEqual(
            self.said("edge"),
            (
                2,
                [
                    "base_station: radio: an edge of the second (time source external) did not come"
                    " within 2.5 s: connect 1 PPS to PPS IN, or --time-source internal"
                ],
            ),
        )

    def test_with_both_connected_it_starts(self):
        self.assertEqual(WAITING["both"].stdout.readline(), "ready\n")
        WAITING["both"].terminate()
        self.assertEqual(self.said("both"), (0, ["terminal: asked to stop"]))

    def prepared(self, arguments, clock, edge):
        """A radio, ten seconds to the second, after its preparation."""
        import radio_time

        radio = uhd.usrp_source(f"type=vusrp,speed=10,{arguments}", uhd.stream_args("fc32"))
        moment = [0.0]

        def sleep(seconds):
            moment[0] += seconds
            time.sleep(seconds / 10)

        radio_time.prepare(radio, clock, edge, uhd.time_spec, sleep, lambda: moment[0])
        return radio

    def test_its_time_is_that_of_the_computer_or_of_gps(self):
        self.assertAlmostEqual(
            self.prepared("pps=1", "internal", "external").get_time_now().get_real_secs(),
            time.time(),
            delta=30,
        )
        self.assertAlmostEqual(
            self.prepared("gpsdo=1", "gpsdo", "gpsdo").get_time_now().get_real_secs(),
            1_767_225_600,
            delta=30,
        )

    def test_what_does_not_come_is_missing(self):
        import radio_time

        for arguments, clock, edge, words in (
            (
                "reference=0",
                "gpsdo",
                "internal",
                "--clock-source is 'gpsdo'; valid with this device: internal, external",
            ),
            (
                "pps=0",
                "internal",
                "gpsdo",
                "--time-source is 'gpsdo'; valid with this device: internal, external",
            ),
            ("lo=0", "internal", "internal", "lo_locked did not come within 2 s"),
        ):
            with self.subTest(arguments), self.assertRaisesRegex(radio_time.Missing, words):
                self.prepared(arguments, clock, edge)


if __name__ == "__main__":
    unittest.main()
