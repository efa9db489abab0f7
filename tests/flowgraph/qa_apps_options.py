# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of base_station.py and terminal.py: what is refused, what a radio is set to, and the clock
sources that it needs."""

import json
import subprocess
import sys
import time
import unittest

from apps_world import APPS, END_S, Cell
from gnuradio import uhd

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


class BadInput(Cell):
    def test_a_power_can_be_asked_for_where_the_radio_is_calibrated(self):
        for radio, power, words in (
            ("b210", 0, "no power calibration"),
            ("b210,calibrated=1", 30, "valid with this radio: -94.75..-5 dBm"),
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
        for arguments, words in (
            (["--lead", "46"], "0|2..45"),
            (["--edge-samples", "41"], "0..40"),
        ):
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
            (["--args", "type=vusrp", "--cell", "64"], "0..63"),
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


class ClockRequirements(unittest.TestCase):
    """The clock of a software USRP through gr-uhd, not that of a mock (test_radio_time)."""

    def output(self, what):
        """(exit code, standard error) of a program that was started with the first test."""
        out, err = WAITING[what].communicate(timeout=20)
        return WAITING[what].returncode, err.splitlines()

    def test_a_source_that_the_radio_refuses_ends_the_program_in_its_words(self):
        self.assertEqual(
            self.output("gpsdo"),
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
            self.output("reference"),
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
            self.output("edge"),
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
        self.assertEqual(self.output("both"), (0, ["terminal: asked to stop"]))

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
