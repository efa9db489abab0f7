# SPDX-License-Identifier: GPL-3.0-or-later
"""Clock and time of a station's radio: what is waited for, what is said when it does not come, and
when the first slot is."""

import fractions
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "flowgraphs/apps"))
import radio_time


class Value:
    def __init__(self, value):
        self.value = value

    def to_bool(self):
        return bool(self.value)

    def to_int(self):
        return int(self.value)


class Time:
    def __init__(self, seconds):
        self.seconds = seconds

    def get_real_secs(self):
        return self.seconds

    def get_full_secs(self):
        return int(self.seconds)


class Radio:
    """A device in virtual time: sensors become true at a moment, an edge of the second comes at
    each whole one."""

    def __init__(
        self,
        board=(),
        front=(),
        pps=True,
        sources=("internal", "external", "gpsdo"),
        gps_time=1_700_000_000,
    ):
        self.clock = 0.5
        # name -> moment from which it is true
        self.board, self.front = dict(board), dict(front)
        self.pps, self.sources, self.gps_time = pps, sources, gps_time
        self.device_time, self.asked, self.chosen = 100.25, None, {}

    def sleep(self, seconds):
        before = int(self.clock)
        self.clock += seconds
        self.device_time += seconds
        if int(self.clock) > before and self.pps and self.asked is not None:
            self.device_time, self.asked = self.asked + self.clock % 1, None

    def now(self):
        return self.clock

    def prepare(self, clock, time):
        radio_time.prepare(self, clock, time, float, self.sleep, self.now)

    def get_clock_sources(self, _):
        return self.sources

    get_time_sources = get_clock_sources

    def set_clock_source(self, source, _):
        self.chosen["clock"] = source

    def set_time_source(self, source, _):
        self.chosen["time"] = source

    def get_mboard_sensor_names(self, _):
        return [*self.board, "gps_time"]

    def get_mboard_sensor(self, name, _):
        return Value(
            self.gps_time + int(self.clock)
            if name == "gps_time"
            else self.clock >= self.board[name]
        )

    def get_sensor_names(self, _):
        return list(self.front)

    def get_sensor(self, name, _):
        return Value(self.clock >= self.front[name])

    def get_time_last_pps(self, _):
        return Time(round(self.device_time - self.clock % 1, 3) if self.pps else 0.0)

    def set_time_next_pps(self, seconds):
        self.asked = seconds


class Slow(Radio):
    """A radio whose sensor, or setting whose time, takes so long the first time; the sensor goes on
    to the next second late."""

    def __init__(self, *args, slow_sensor=0.0, slow_set=0.0, behind=0.0, always=False):
        super().__init__(*args)
        self.slow_sensor, self.slow_set, self.behind, self.always = (
            slow_sensor,
            slow_set,
            behind,
            always,
        )

    def get_mboard_sensor(self, name, board):
        if name != "gps_time":
            return super().get_mboard_sensor(name, board)
        second = Value(self.gps_time + int(self.clock - self.behind))
        self.sleep(self.slow_sensor)
        self.slow_sensor *= self.always
        return second

    def set_time_next_pps(self, seconds):
        self.sleep(self.slow_set)
        self.slow_set = 0.0
        super().set_time_next_pps(seconds)


class RadioTime(unittest.TestCase):
    def missing(self, radio, clock="internal", time="internal"):
        with self.assertRaises(radio_time.Missing) as caught:
            radio.prepare(clock, time)
        self.assertNotIn("\n", str(caught.exception))
        return str(caught.exception)

    def test_of_its_own_it_waits_for_nothing_that_is_there(self):
        radio = Radio({"ref_locked": 0}, {"lo_locked": 0})
        radio.prepare("internal", "internal")
        self.assertEqual(
            (radio.chosen, radio.clock, radio.asked),
            ({"clock": "internal", "time": "internal"}, 0.5, None),
        )

    def test_a_reference_is_waited_for(self):
        radio = Radio({"ref_locked": 7.0}, {"lo_locked": 7.5})
        radio.prepare("external", "internal")
        self.assertGreaterEqual(radio.clock, 7.5)

    def test_a_reference_that_does_not_come_is_named_with_what_to_look_at(self):
        self.assertEqual(
            self.missing(Radio({"ref_locked": 99}), clock="external"),
            "ref_locked (clock source external) did not come within 10 s: connect 10 MHz to REF IN"
            " (level: the device's manual), or --clock-source internal",
        )
        self.assertIn("is a GPSDO fitted", self.missing(Radio({"ref_locked": 99}), clock="gpsdo"))
        self.assertIn(
            "lo_locked did not come within 2 s", self.missing(Radio(front={"lo_locked": 99}))
        )

    def test_a_device_without_sensors_is_believed(self):
        Radio().prepare("external", "internal")

    def test_a_source_that_the_device_does_not_have(self):
        radio = Radio(sources=("internal", "external"))
        self.assertEqual(
            self.missing(radio, clock="gpsdo"),
            "--clock-source is 'gpsdo'; valid with this device: internal, external",
        )
        self.assertEqual(
            self.missing(radio, time="gpsdo"),
            "--time-source is 'gpsdo'; valid with this device: internal, external",
        )

    def test_the_time_is_set_at_an_edge_of_the_second_to_that_of_the_gpsdo(self):
        radio = Radio({"gps_locked": 3.2})
        radio.prepare("gpsdo", "gpsdo")
        self.assertAlmostEqual(radio.device_time, 1_700_000_000 + radio.clock, places=3)

    def test_an_edge_that_comes_while_the_second_is_read_or_set_puts_nothing_a_second_off(self):
        # the first time; then they are quick
        for slow_sensor, slow_set in ((0.7, 0.0), (0.0, 0.7), (0.7, 0.7)):
            with self.subTest(slow_sensor=slow_sensor, slow_set=slow_set):
                radio = Slow({}, {}, slow_sensor=slow_sensor, slow_set=slow_set)
                radio.prepare("gpsdo", "gpsdo")
                self.assertAlmostEqual(radio.device_time, 1_700_000_000 + radio.clock, places=3)

    def test_a_receiver_that_says_the_second_some_time_behind_its_edge_is_asked_later(self):
        radio = Slow({}, {}, behind=0.4)
        radio.prepare("gpsdo", "gpsdo")
        self.assertAlmostEqual(radio.device_time, 1_700_000_000 + radio.clock, places=3)

    def test_a_receiver_that_never_answers_within_a_second_is_said(self):
        radio = Slow({}, {}, slow_sensor=1.1, always=True)
        self.assertIn("the GPSDO answers too slowly", self.missing(radio, time="gpsdo"))

    def test_the_time_is_set_at_an_edge_of_the_second_to_that_of_this_computer(self):
        radio = Radio()
        radio.prepare("external", "external")
        self.assertGreater(radio.device_time, 1_700_000_000)

    def test_without_an_edge_it_says_which_cable(self):
        self.assertIn(
            "an edge of the second (time source external) did not come within 2.5 s: connect 1 PPS",
            self.missing(Radio(pps=False), time="external"),
        )
        self.assertIn("is a GPSDO fitted", self.missing(Radio(pps=False), time="gpsdo"))
        self.assertIn(
            "gps_locked did not come within 60 s",
            self.missing(Radio({"gps_locked": 1e9}), time="gpsdo"),
        )

    def test_the_first_slot_begins_so_long_from_now_or_a_little_later(self):
        for now in (
            fractions.Fraction(0),
            fractions.Fraction(1, 3),
            fractions.Fraction(1_700_000_000 * 7_680_000 + 1, 7_680_000),
        ):
            start = fractions.Fraction(radio_time.first_slot(now, fractions.Fraction(3, 10)), 1500)
            self.assertLessEqual(now + fractions.Fraction(3, 10), start)
            self.assertLess(start - now, fractions.Fraction(3, 10) + fractions.Fraction(1, 1500))


if __name__ == "__main__":
    unittest.main()
